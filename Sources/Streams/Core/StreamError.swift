/// What an operator itself may send as an error.
public enum StreamError: Error, Hashable, Sendable {
  /// The stream completed without an element, where one was needed.
  case noElements
  /// The stream had a second element, where one was allowed.
  case moreThanOneElement
  /// No element came in time.
  case timeout
}
