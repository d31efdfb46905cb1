/// Runs work elsewhere, or later, by its own clock.
public protocol Scheduler: Sendable {
  /// The time by this scheduler's clock, counted from a fixed start. Must return at once: transports ask for it on
  /// threads that many requests share.
  var now: Duration { get }

  /// Runs `action` once, as soon as possible. Disposing the result before the action has begun prevents it.
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable

  /// Runs `action` once, after `delay`. Disposing the result before the action has begun prevents it.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable
}
