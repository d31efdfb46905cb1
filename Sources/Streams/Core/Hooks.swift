/// What the whole process shares.
public enum Hooks {
  private static let handler = Guarded<@Sendable (any Error) -> Void>({ _ in })

  /// Receives each error of a subscription that was made without an `onError` handler, on the thread it occurs on.
  ///
  /// Does nothing unless set: an error never ends the process. May be set from any thread.
  public static var defaultErrorHandler: @Sendable (any Error) -> Void {
    get { handler.withLock { $0 } }
    set { _ = handler.withLock { exchange(&$0, with: newValue) } }
  }
}
