public import SystemBase

/// A type that writes itself as JSON, directly as bytes.
///
/// It may also be `Encodable`: ``JSONCoder`` then writes it this way.
///
///     extension Point: JSONEncodable {
///       func encode(to json: inout JSONWriter) {
///         json.beginObject()
///         json.write("x", x)
///         json.write("y", y)
///         json.endObject()
///       }
///     }
public protocol JSONEncodable {
  /// Writes exactly one value. ``JSONWriter/finish()`` reports what cannot be written.
  func encode(to json: inout JSONWriter)
}

extension JSONEncodable {
  /// The value as a JSON text; throws if it contains something that JSON cannot express.
  @inlinable
  public func json() throws(JSONError) -> Data {
    // Most requests fit into this size with their query, and small blocks are allocated fastest.
    var writer = JSONWriter(capacity: 1000)
    encode(to: &writer)
    return try writer.finish()
  }
}

extension RawRepresentable where Self: JSONEncodable, RawValue: JSONEncodable {
  /// Writes the raw value.
  public func encode(to json: inout JSONWriter) {
    rawValue.encode(to: &json)
  }
}
