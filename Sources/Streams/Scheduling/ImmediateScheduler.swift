internal import Dispatch

/// Runs work at once, on the caller's thread; delayed work runs on a global queue.
public struct ImmediateScheduler: Scheduler {
  /// An immediate scheduler; all are alike.
  public init() {}

  /// The time since the machine booted.
  public var now: Duration { .uptime }

  /// Runs `action` before it returns.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }

  /// Runs `action` before it returns if `delay` is 0 or less, otherwise on a global queue after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    delay <= .zero ? schedule(action) : DispatchQueue.global().schedule(after: delay, action)
  }
}
