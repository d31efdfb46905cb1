/// The parameters of a session that carries none: no query, no body.
public struct NoParameters: Encodable, Sendable {
  /// Makes the only value.
  public init() {}
}
