/// An error that comes from an operator itself.
public enum StreamError: Error, Hashable, Sendable {
  /// The stream completed without an element, but one was needed.
  case noElements
  /// The stream had a second element, but only one was allowed.
  case moreThanOneElement
  /// No element came in time.
  case timeout
}
