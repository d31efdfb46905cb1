import SystemBase

/// A type that reads itself from JSON, directly from the bytes.
///
/// It may also be `Decodable`: ``JSONCoder`` then reads it this way.
public protocol JSONDecodable {
  /// Reads exactly one value; throws if the text is not JSON or does not fit.
  init(from json: inout JSONReader) throws(JSONError)
}

extension JSONDecodable {
  /// Reads a whole JSON text in UTF-8 as one value.
  @inlinable
  public init(json bytes: RawSpan) throws(JSONError) {
    self = try JSONReader.reading(bytes) { (json: inout JSONReader) throws(JSONError) -> Self in
      try Self(from: &json)
    }
  }

  /// Reads a whole JSON text as one value.
  public init(json text: String) throws(JSONError) {
    try self.init(json: text.utf8.span.bytes)
  }
}

extension RawRepresentable where Self: JSONDecodable, RawValue: JSONDecodable {
  /// Reads the raw value; throws if the type has no such value. A string with more than 30 combining characters in a row
  /// is an error, as it is in a key, since enums compare it.
  public init(from json: inout JSONReader) throws(JSONError) {
    _ = json.peek()
    let first = json.offset
    let raw = try RawValue(from: &json)
    if let text = raw as? String, !text.isName {
      json.goBack(to: first)
      throw json.invalid(String.expectedOfNames)
    }
    guard let value = Self(rawValue: raw) else {
      json.goBack(to: first)
      throw json.invalid("a value of \(Self.self)")
    }
    self = value
  }
}
