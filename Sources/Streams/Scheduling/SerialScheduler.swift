public import Dispatch

/// Runs work on a dispatch queue, one at a time.
public struct SerialScheduler: Scheduler {
  private let queue: DispatchQueue

  /// Runs work on `queue`; one at a time even if that queue is concurrent. `schedule(_:)` keeps the order it is given work
  /// in; delayed work comes by its time.
  public init(queue: DispatchQueue) {
    self.queue = DispatchQueue(label: queue.label + ".serial", target: queue)
  }

  /// The time since the machine started.
  public var now: Duration { .uptime }

  /// Runs `action` on the queue, which keeps it until its turn has come, disposed or not.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { queue.schedule(action) }

  /// Runs `action` on the queue when it is due.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    queue.schedule(after: delay, action)
  }
}
