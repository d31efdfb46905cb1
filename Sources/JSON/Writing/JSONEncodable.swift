public import Foundation

/// A type that writes itself as JSON, with nothing between the value and the bytes.
///
/// It may be `Encodable` as well: ``JSONCoder`` then writes it this way.
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
  /// Writes the value, exactly one. What cannot be written is reported by ``JSONWriter/finish()``.
  func encode(to json: inout JSONWriter)
}

extension JSONEncodable {
  /// The value as a JSON text; throws where there is something in it that JSON has no form for.
  @inlinable
  public func json() throws(JSONError) -> Data {
    // A request with its query mostly fits, and small memory is found the fastest.
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
