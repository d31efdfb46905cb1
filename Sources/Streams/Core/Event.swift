/// One event of a stream, as a value.
public enum Event<Element: Sendable>: Sendable {
  /// An element.
  case next(Element)
  /// The end, with the error that caused it.
  case error(any Error)
  /// The end, without an error.
  case completed
}
