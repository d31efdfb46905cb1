import SystemBase

/// JSON that is kept as bytes: to store a server's response as it came, or to write something that is already encoded.
///
/// Encoders and decoders other than ``JSONCoder`` write and read it through ``JSONValue``.
public struct RawJSON: Hashable, Sendable, CustomStringConvertible {
  /// The text in UTF-8: exactly one value.
  public let bytes: [UInt8]

  /// How deep arrays and objects nest in it.
  let depth: Int

  /// The text.
  public var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Takes bytes that are known to be exactly one value.
  init(checked bytes: [UInt8], depth: Int) {
    self.bytes = bytes
    self.depth = depth
  }

  /// Encodes a string, which cannot fail.
  init(string: String) {
    var writer = JSONWriter(capacity: string.utf8.count + 16)
    writer.writeString(string)
    self.init(checked: writer.written, depth: 0)
  }

  /// Encodes a value once, so that it can be sent any number of times.
  public init(_ value: some JSONEncodable) throws(JSONError) {
    let json = try value.json()
    try self.init(json: json.bytes)
  }
}

extension RawJSON: JSONDecodable, JSONEncodable {
  /// Reads the next value as its checked bytes, without the whitespace around it.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readRaw()
  }

  /// Writes the bytes as they are.
  public func encode(to json: inout JSONWriter) {
    json.writeRaw(self)
  }
}

extension RawJSON: Codable {
  /// Reads the value, and keeps it in its shortest form.
  public init(from decoder: any Decoder) throws {
    try self.init(JSONValue(from: decoder))
  }

  /// Writes the value that the bytes stand for.
  public func encode(to encoder: any Encoder) throws {
    try JSONValue(json: bytes.span.bytes).encode(to: encoder)
  }
}

/// A string that is written many times, such as the document of a GraphQL operation: it is escaped once, when it is
/// made.
///
/// Encoders other than ``JSONCoder`` write it like any string.
public struct PreparedString: Hashable, Sendable {
  /// The string.
  public let value: String

  private let json: RawJSON

  /// Takes a string, and escapes it.
  public init(_ value: String) {
    self.value = value
    json = RawJSON(string: value)
  }

  /// Whether the strings are equal.
  public static func == (left: PreparedString, right: PreparedString) -> Bool { left.value == right.value }

  /// Hashes the string.
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension PreparedString: JSONEncodable {
  /// Writes the escaped string.
  public func encode(to json: inout JSONWriter) { json.writeRaw(self.json) }
}

extension PreparedString: Encodable {
  /// Writes the string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
