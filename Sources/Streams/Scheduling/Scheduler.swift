/// Runs work elsewhere, or later, by its own clock.
public protocol Scheduler: Sendable {
  /// The time by this scheduler's clock, since a start that does not change.
  var now: Duration { get }

  /// Runs `action` once, as soon as it can. Disposing the result before it has begun prevents it.
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable

  /// Runs `action` once, when `delay` has passed. Disposing the result before it has begun prevents it.
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable
}
