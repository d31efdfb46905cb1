/// The default error of `#` in a marble string.
public struct MarbleError: Error, Hashable, Sendable {
  /// Makes the error.
  public init() {}
}
