public import Foundation

extension Date: JSONDecodable, JSONEncodable {
  /// Reads an ISO 8601 date, as ``init(iso8601:)`` does.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readString(as: "a date such as 2026-01-31T12:00:00.5+01:00") { Date(iso8601: $0) }
  }

  /// Writes ISO 8601 in UTC; a date outside the years 0 to 9999 cannot be written.
  public func encode(to json: inout JSONWriter) {
    guard let text = iso8601 else {
      json.fail(expected: "a date of the years 0 to 9999")
      return json.writeNull()
    }
    json.writeString(text)
  }
}

extension URL: JSONDecodable, JSONEncodable {
  /// Reads a URL.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readString(as: "a URL") { URL(string: $0) }
  }

  /// Writes the URL as it is.
  public func encode(to json: inout JSONWriter) { json.writeString(absoluteString) }
}

extension UUID: JSONDecodable, JSONEncodable {
  /// Reads a UUID.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readString(as: "a UUID") { UUID(uuidString: $0) }
  }

  /// Writes the UUID in upper case.
  public func encode(to json: inout JSONWriter) { json.writeString(uuidString) }
}

extension Data: JSONDecodable, JSONEncodable {
  /// Reads Base64 (RFC 4648, section 4), padded.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readString(as: "data in Base64") { Data(base64Encoded: $0) }
  }

  /// Writes Base64, padded.
  public func encode(to json: inout JSONWriter) { json.writeString(base64EncodedString()) }
}

extension Decimal: JSONDecodable, JSONEncodable {
  /// Reads a number. Digits beyond about 38 are dropped; a number out of range is an error.
  public init(from json: inout JSONReader) throws(JSONError) {
    _ = json.peek()
    let first = json.position
    guard let value = Decimal(string: try json.readNumberText()), value.isFinite else {
      json.position = first
      throw json.outOfRange("a number that fits Decimal")
    }
    self = value
  }

  /// Writes all digits.
  public func encode(to json: inout JSONWriter) {
    guard isFinite else {
      json.fail(expected: "a number that is finite")
      return json.writeNull()
    }
    json.writeNumber(description)
  }
}

extension JSONReader {
  /// Reads a string and converts it; if `make` returns nil, the error's place is the string.
  fileprivate mutating func readString<Value>(
    as expected: String, _ make: (String) -> Value?
  ) throws(JSONError) -> Value {
    _ = peek()
    let first = position
    guard let value = make(try readString()) else {
      position = first
      throw invalid(expected)
    }
    return value
  }
}
