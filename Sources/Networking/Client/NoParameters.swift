public import JSON

/// The parameters of a session without any: no query, no body.
public struct NoParameters: Encodable, Sendable {
  /// Makes the only value.
  public init() {}
}

extension NoParameters: JSONEncodable {
  /// Writes an empty object.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.endObject()
  }
}
