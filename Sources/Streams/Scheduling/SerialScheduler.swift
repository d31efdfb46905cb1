public import Dispatch

/// Runs work on a dispatch queue, one action at a time.
public struct SerialScheduler: Scheduler {
  private let queue: DispatchQueue

  /// Runs work on `queue`, one action at a time even if the queue is concurrent. `schedule(_:)` keeps the order of its
  /// calls; delayed actions run in the order of their times.
  public init(queue: DispatchQueue) {
    self.queue = DispatchQueue(label: queue.label + ".serial", target: queue)
  }

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue. The queue keeps the closure until its turn comes, even if it is disposed.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}
