public import SystemBase

/// An error that comes from an operator itself. Cases may be added.
@nonexhaustive
public enum StreamError: Error, Hashable, Sendable {
  /// The stream completed without an element, but one was needed.
  case noElements
  /// The stream had a second element, but only one was allowed.
  case moreThanOneElement
  /// No element came in time.
  case timeout
}

extension StreamError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .noElements: "The stream completed without an element."
    case .moreThanOneElement: "The stream had more than one element."
    case .timeout: "No element came in time."
    }
  }
}

extension StreamError: LocalizedError {
  /// What `localizedDescription` gives: the description.
  public var errorDescription: String? { description }
}

/// Settings of the whole process.
public enum Hooks {
  private static let handler = Locked<@Sendable (any Error) -> Void>({ _ in })

  /// Receives each error of a subscription that has no `onError` handler, on the thread on which it occurs.
  ///
  /// By default it does nothing: an error never ends the process. Thread-safe.
  public static var defaultErrorHandler: @Sendable (any Error) -> Void {
    get { handler.withLock { $0 } }
    set { withExtendedLifetime(handler.withLock { exchange(&$0, with: newValue) }) {} }
  }
}
