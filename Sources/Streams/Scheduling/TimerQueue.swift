@preconcurrency internal import Dispatch
import SystemBase

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

  private let state = Locked(State())
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
    var action: (@Sendable () -> Void)?
    state.withLock { state in
      state.heap.remove(timed)
      swap(&timed.action, &action)
    }
    return action
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

/// The only timer of an operator, which also serializes the operator's events and its own firing. It ends with the
/// segment.
///
/// An operator that moves its due time later need not set the timer again: its action compares the times, and may set
/// it then.
///
/// `@unchecked Sendable`: `action` is set before `attach()`. From then on, both variables are touched inside the
/// serializer, or when it closes. Only `timeout` calls `fire` a first time outside of it, when there is no job or source
/// yet by which another thread could come to `isSet`.
final class Timer: Serializer, @unchecked Sendable {
  var action: @Sendable () -> Void = {}
  private let scheduler: any Scheduler
  private let job = Slot()
  private var isSet = false

  init(_ lifetime: Lifetime, _ scheduler: any Scheduler) {
    self.scheduler = scheduler
    super.init(lifetime)
  }

  /// Ties the timer to the segment. If that is closed already, the timer ends at once, so `action` must be set before.
  func attach() {
    lifetime.add(self)
    lifetime.add(job)
  }

  override func release() { action = {} }

  /// Runs `action` at `time`, or at the time for which the timer is already set.
  func fire(at time: Duration) {
    if isSet { return }
    isSet = true
    job.set(scheduler.schedule(after: time - scheduler.now) { self.send(()) { self.fired() } })
  }

  private func fired() {
    isSet = false
    action()
  }
}

/// An action that runs on a queue at a time, once; disposing it prevents that.
///
/// It is a lifetime so that a bag releases it when it has run.
///
/// `@unchecked Sendable`, and without exclusivity checks: the variables are touched only under the lock of the timer queue.
final class TimedAction: Lifetime, HeapElement, @unchecked Sendable {
  let time: DispatchTime
  let queue: any WorkQueue
  /// `nil` once it has begun or was disposed.
  @exclusivity(unchecked) var action: (@Sendable () -> Void)?
  /// Tells apart actions at the same time, which run in the order in which they were scheduled.
  @exclusivity(unchecked) var number: UInt64 = 0
  /// The place in the heap; `nil` if it is not in there.
  @exclusivity(unchecked) var place: Int?

  private let timers: TimerQueue

  init(
    at time: DispatchTime, on queue: any WorkQueue, of timers: TimerQueue, _ action: @escaping @Sendable () -> Void
  ) {
    self.time = time
    self.queue = queue
    self.timers = timers
    self.action = action
  }

  func isBefore(_ other: TimedAction) -> Bool { (time.rawValue, number) < (other.time.rawValue, other.number) }

  func fire() {
    guard claim() else { return }
    timers.take(self)?()
    close()
  }

  override func dispose() {
    super.dispose()
    _ = timers.take(self)
  }
}
