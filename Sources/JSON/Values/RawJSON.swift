import Foundation

/// JSON that is kept as its bytes: to store what a server sent as it came, or to write what was written before.
///
/// Other encoders and decoders than ``JSONCoder`` write and read it by way of ``JSONValue``.
public struct RawJSON: Hashable, Sendable {
  /// The text in UTF-8, one whole value.
  public let bytes: [UInt8]

  /// How deep arrays and objects nest in it.
  let depth: Int

  /// Takes bytes that are known to be one whole value.
  init(checked bytes: [UInt8], depth: Int) {
    self.bytes = bytes
    self.depth = depth
  }

  /// Writes a string, which always can be written.
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
  /// Takes the value that stands there, checked, without the whitespace around it.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readRaw()
  }

  /// Writes the bytes as they are.
  public func encode(to json: inout JSONWriter) {
    json.writeRaw(self)
  }
}

extension RawJSON: Codable {
  /// Takes the value that stands there, in its shortest form.
  public init(from decoder: any Decoder) throws {
    try self.init(JSONValue(from: decoder))
  }

  /// Writes the value that the bytes stand for.
  public func encode(to encoder: any Encoder) throws {
    try JSONValue(json: bytes.span.bytes).encode(to: encoder)
  }
}
