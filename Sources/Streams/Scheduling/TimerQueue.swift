@preconcurrency internal import Dispatch

/// All delayed actions of the process, behind a single timer: Dispatch needs several thread switches to set a timer and
/// to cancel it again, which cost more than the request that it is the deadline of.
final class TimerQueue: Sendable {
  static let shared = TimerQueue()

  private struct State {
    var heap = Heap<TimedAction>()
    /// When the timer fires next: no later than the first action's time, and earlier if what it was set for is gone.
    var alarm = DispatchTime.distantFuture
    var lastNumber: UInt64 = 0
  }

  private let state = Guarded(State())
  private let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "Streams.TimerQueue"))

  private init() {
    timer.setEventHandler { self.fire() }
    timer.schedule(deadline: .distantFuture)
    timer.activate()
  }

  /// Runs an action on a queue at a time.
  func schedule(
    at time: DispatchTime, on queue: any WorkQueue, _ action: @escaping @Sendable () -> Void
  ) -> TimedAction {
    let timed = TimedAction(at: time, on: queue, of: self, action)
    state.withLock { state in
      state.lastNumber += 1
      timed.number = state.lastNumber
      state.heap.insert(timed)
      setAlarm(&state)
    }
    return timed
  }

  /// Removes an action for the caller to run or to release, outside the lock; `nil` if it has been taken before.
  func take(_ timed: TimedAction) -> (@Sendable () -> Void)? {
    state.withLock { state in
      state.heap.remove(timed)
      return exchange(&timed.action, with: nil)
    }
  }

  private func setAlarm(_ state: inout State) {
    guard let time = state.heap.first?.time, time < state.alarm else { return }
    state.alarm = time
    timer.schedule(deadline: time)
  }

  private func fire() {
    let now = DispatchTime.now()
    let due = state.withLock { state in
      state.alarm = .distantFuture
      var due: [TimedAction] = []
      while let first = state.heap.first, first.time <= now {
        state.heap.remove(first)
        due.append(first)
      }
      setAlarm(&state)
      return due
    }
    for timed in due { timed.queue.submit { timed.fire() } }
  }
}
