@preconcurrency internal import Dispatch

/// An action that runs on a queue at a time, once; disposing it prevents that.
///
/// `@unchecked Sendable`: the variables are touched only under the lock of the timer queue.
final class TimedAction: Disposable, @unchecked Sendable {
  let time: DispatchTime
  let queue: DispatchQueue
  /// `nil` once it has begun or was disposed.
  var action: (@Sendable () -> Void)?
  /// Tells apart actions at the same time, which run in the order in which they were scheduled.
  var number: UInt64 = 0
  /// The place in the heap; `nil` if it is not in there.
  var place: Int?

  private let timers: TimerQueue

  init(at time: DispatchTime, on queue: DispatchQueue, of timers: TimerQueue, _ action: @escaping @Sendable () -> Void)
  {
    self.time = time
    self.queue = queue
    self.timers = timers
    self.action = action
  }

  func isBefore(_ other: TimedAction) -> Bool { (time.rawValue, number) < (other.time.rawValue, other.number) }

  func run() { timers.take(self)?() }

  func dispose() { _ = timers.take(self) }
}
