internal import Dispatch

/// Runs work at once, on the caller's thread; what is to wait runs on a global queue when it is due.
public struct ImmediateScheduler: Scheduler {
  /// The scheduler; all are alike.
  public init() {}

  /// The time since the machine started.
  public var now: Duration { .uptime }

  /// Runs `action` before it returns.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }

  /// Runs `action` before it returns if there is no delay, else on a global queue.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    delay <= .zero ? schedule(action) : DispatchQueue.global().schedule(after: delay, action)
  }
}
