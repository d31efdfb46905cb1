/// A type that reads itself from JSON, with nothing between the bytes and the value.
///
/// It may be `Decodable` as well: ``JSONCoder`` then reads it this way.
public protocol JSONDecodable {
  /// Reads a value, exactly one; throws where the text is no JSON or does not fit.
  init(from json: inout JSONReader) throws(JSONError)
}

extension JSONDecodable {
  /// Reads the value of a whole JSON text in UTF-8.
  @inlinable
  public init(json bytes: RawSpan) throws(JSONError) {
    self = try JSONReader.reading(bytes) { (json: inout JSONReader) throws(JSONError) -> Self in
      try Self(from: &json)
    }
  }

  /// Reads the value of a whole JSON text.
  public init(json text: String) throws(JSONError) {
    try self.init(json: text.utf8.span.bytes)
  }
}

extension RawRepresentable where Self: JSONDecodable, RawValue: JSONDecodable {
  /// Reads the raw value; one that is none of the type's is an error.
  public init(from json: inout JSONReader) throws(JSONError) {
    _ = json.peek()
    let first = json.position
    guard let value = Self(rawValue: try RawValue(from: &json)) else {
      json.position = first
      throw json.invalid("a value of \(Self.self)")
    }
    self = value
  }
}
