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
