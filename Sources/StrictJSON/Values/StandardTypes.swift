public import SystemBase

extension String: JSONDecodable, JSONEncodable {
  /// Reads a string.
  @inlinable @inline(__always)
  public init(from json: inout JSONReader) throws(JSONError) { self = try json.readString() }
  /// Writes the string.
  @inlinable @inline(__always)
  public func encode(to json: inout JSONWriter) { json.writeString(self) }
}

extension Bool: JSONDecodable, JSONEncodable {
  /// Reads `true` or `false`.
  @inlinable @inline(__always)
  public init(from json: inout JSONReader) throws(JSONError) { self = try json.readBool() }
  /// Writes `true` or `false`.
  @inlinable @inline(__always)
  public func encode(to json: inout JSONWriter) { json.writeBool(self) }
}

extension Double: JSONDecodable, JSONEncodable {
  /// Reads a number.
  @inlinable @inline(__always)
  public init(from json: inout JSONReader) throws(JSONError) { self = try json.readDouble() }
  /// Writes the number.
  @inlinable @inline(__always)
  public func encode(to json: inout JSONWriter) { json.writeDouble(self) }
}

extension Float: JSONDecodable, JSONEncodable {
  /// Reads a number.
  @inlinable @inline(__always)
  public init(from json: inout JSONReader) throws(JSONError) { self = try json.readFloat() }
  /// Writes the number.
  @inlinable @inline(__always)
  public func encode(to json: inout JSONWriter) { json.writeFloat(self) }
}

extension FixedWidthInteger where Self: JSONDecodable {
  /// Reads a whole number that fits.
  @inlinable @inline(__always)
  public init(from json: inout JSONReader) throws(JSONError) { self = try json.readInteger() }
}

extension FixedWidthInteger where Self: JSONEncodable {
  /// Writes the number.
  @inlinable @inline(__always)
  public func encode(to json: inout JSONWriter) { json.writeInteger(self) }
}

extension Int: JSONDecodable, JSONEncodable {}
extension Int8: JSONDecodable, JSONEncodable {}
extension Int16: JSONDecodable, JSONEncodable {}
extension Int32: JSONDecodable, JSONEncodable {}
extension Int64: JSONDecodable, JSONEncodable {}
extension UInt: JSONDecodable, JSONEncodable {}
extension UInt8: JSONDecodable, JSONEncodable {}
extension UInt16: JSONDecodable, JSONEncodable {}
extension UInt32: JSONDecodable, JSONEncodable {}
extension UInt64: JSONDecodable, JSONEncodable {}

// A number of more than 64 bits is only read if it is written without fraction and exponent.

extension Int128: JSONDecodable, JSONEncodable {}
extension UInt128: JSONDecodable, JSONEncodable {}

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
    self = try json.readString(as: "data in Base64") { Data(paddedBase64: $0) }
  }

  /// Writes Base64, padded.
  public func encode(to json: inout JSONWriter) { json.writeString(base64EncodedString()) }
}

extension Decimal: JSONDecodable, JSONEncodable {
  /// Reads a number. Digits beyond about 38 are dropped; a number out of range is an error.
  public init(from json: inout JSONReader) throws(JSONError) {
    _ = json.peek()
    let first = json.offset
    guard let value = Decimal(jsonNumber: try json.readNumberText()) else {
      json.goBack(to: first)
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

extension Data {
  /// Takes Base64 (RFC 4648, section 4), with the padding that its length needs and no more; `nil` for other texts.
  init?(paddedBase64 text: String) {
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard text.utf8.count.isMultiple(of: 4), padding <= 2, !text.utf8.dropLast(padding).contains(UInt8(ascii: "="))
    else { return nil }
    self.init(base64Encoded: text)
  }
}

extension JSONReader {
  /// Reads a string and converts it; if `make` returns nil, the error's place is the string.
  fileprivate mutating func readString<Value>(
    as expected: String, _ make: (String) -> Value?
  ) throws(JSONError) -> Value {
    _ = peek()
    let first = offset
    guard let value = make(try readString()) else {
      goBack(to: first)
      throw invalid(expected)
    }
    return value
  }
}

extension Optional: JSONDecodable where Wrapped: JSONDecodable {
  /// Reads `null` as `nil`.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readNull() ? nil : try Wrapped(from: &json)
  }
}

extension Optional: JSONEncodable where Wrapped: JSONEncodable {
  /// Writes `nil` as `null`.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    if let self { self.encode(to: &json) } else { json.writeNull() }
  }
}

extension Array: JSONDecodable where Element: JSONDecodable {
  /// Reads an array.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = []
    try json.beginArray()
    while try json.nextElement() {
      append(try Element(from: &json))
    }
  }
}

extension Array: JSONEncodable where Element: JSONEncodable {
  /// Writes an array.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    json.beginArray()
    if !json.isTooDeep {
      for element in self { element.encode(to: &json) }
    }
    json.endArray()
  }
}

extension Set: JSONDecodable where Element: JSONDecodable {
  /// Reads an array; of equal elements only one is kept. A string with more than 30 combining characters in a row is an
  /// error, as it is in a key.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = []
    try json.beginArray()
    while try json.nextElement() {
      let element = try Element(from: &json)
      if let text = element as? String, !text.isName { throw json.invalid(String.expectedOfNames) }
      insert(element)
    }
  }
}

extension Set: JSONEncodable where Element: JSONEncodable {
  /// Writes an array in no order.
  public func encode(to json: inout JSONWriter) {
    Array(self).encode(to: &json)
  }
}

extension Dictionary: JSONDecodable where Key == String, Value: JSONDecodable {
  /// Reads an object; of equal keys the last counts.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = [:]
    try json.beginObject()
    while try json.nextKey() {
      let key = json.key
      self[key] = try Value(from: &json)
    }
  }
}

extension Dictionary: JSONEncodable where Key == String, Value: JSONEncodable {
  /// Writes an object, sorted by the bytes of its keys, so that equal values give equal texts.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    if !json.isTooDeep {
      for (key, value) in sorted(by: { $0.key.precedes($1.key) }) {
        json.writeKey(key)
        value.encode(to: &json)
      }
    }
    json.endObject()
  }
}
