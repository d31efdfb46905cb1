public import JSON

/// The response type of a session of which only the success matters.
public struct NoContent: Hashable, Sendable, Decodable {
  /// Makes the only value.
  public init() {}

  /// Passes over whatever stands there; for the content of an envelope.
  public init(from decoder: any Decoder) {}
}

extension NoContent: JSONDecodable {
  /// Passes over whatever stands there; for the content of an envelope.
  public init(from json: inout JSONReader) throws(JSONError) {
    try json.skipValue()
  }
}

extension APISession where ResponseType == NoContent {
  /// Success alone.
  public var responseParser: ResponseParser<NoContent> { .noContent }
}
