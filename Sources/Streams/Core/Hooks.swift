/// Settings of the whole process.
public enum Hooks {
  private static let handler = Guarded<@Sendable (any Error) -> Void>({ _ in })

  /// Receives each error of a subscription that has no `onError` handler, on the thread on which it occurs.
  ///
  /// By default it does nothing: an error never ends the process. Thread-safe.
  public static var defaultErrorHandler: @Sendable (any Error) -> Void {
    get { handler.withLock { $0 } }
    set { _ = handler.withLock { exchange(&$0, with: newValue) } }
  }
}
