public import Dispatch

/// Runs work on a dispatch queue, one action at a time.
///
/// Each action takes a turn of its own, so that other work on the queue comes in between, however many actions wait.
public struct SerialScheduler: Scheduler {
  fileprivate static let onMain = SerialScheduler(queue: .main)
  private let queue: SerialQueue

  /// Runs work on `queue`, one action at a time even if the queue is concurrent. `schedule(_:)` keeps the order of its
  /// calls; delayed actions run in the order of their times.
  public init(queue: DispatchQueue) { self.queue = SerialQueue(target: queue) }

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}

extension Scheduler where Self == SerialScheduler {
  /// Runs work on the main queue, one action at a time, as in `observe(on: .main)`. What is scheduled by
  /// work of that queue waits for its turn, too.
  public static var main: SerialScheduler { .onMain }
}
