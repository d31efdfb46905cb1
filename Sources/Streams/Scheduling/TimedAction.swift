@preconcurrency internal import Dispatch

/// An action that runs on a queue at a time, once; disposing it prevents that.
///
/// It is a lifetime so that a bag lets go of it when it has run.
///
/// `@unchecked Sendable`: the variables are touched only under the lock of the timer queue.
final class TimedAction: Lifetime, HeapElement, @unchecked Sendable {
  let time: DispatchTime
  let queue: any WorkQueue
  /// `nil` once it has begun or was disposed.
  var action: (@Sendable () -> Void)?
  /// Tells apart actions at the same time, which run in the order in which they were scheduled.
  var number: UInt64 = 0
  /// The place in the heap; `nil` if it is not in there.
  var place: Int?

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
