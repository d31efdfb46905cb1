public import Dispatch

/// Runs work on a concurrent dispatch queue: several actions at a time, in no particular order. A stream that is
/// observed on it still keeps its order.
public struct ConcurrentScheduler: Scheduler {
  private let queue: DispatchQueue

  /// Runs work on `queue`.
  public init(queue: DispatchQueue = .global()) { self.queue = queue }

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}
