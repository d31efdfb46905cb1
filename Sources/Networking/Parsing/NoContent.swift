public import JSON

/// The response type of a session whose response has no content of interest.
public struct NoContent: Hashable, Sendable, Decodable {
  /// Makes the only value.
  public init() {}

  /// Ignores whatever is there, for use as the content of an envelope.
  public init(from decoder: any Decoder) {}
}

extension NoContent: JSONDecodable {
  /// Ignores whatever is there, for use as the content of an envelope.
  public init(from json: inout JSONReader) throws(JSONError) {
    try json.skipValue()
  }
}

extension APISession where ResponseType == NoContent {
  /// Requires success only.
  public var responseParser: ResponseParser<NoContent> { .noContent }
}
