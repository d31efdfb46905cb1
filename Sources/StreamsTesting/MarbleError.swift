/// The error of `#` in a marble string, unless another one is named.
public struct MarbleError: Error, Hashable, Sendable {
  /// The error.
  public init() {}
}
