public import Foundation
import JSON

/// Turns keys and values into bytes and back: with closures, or as JSON if both are `Codable`.
///
/// Equal keys must have equal bytes. The closures are called on any thread, and several at once.
public struct RecordCoder<Key: Sendable, Value: Sendable>: Sendable {
  let encodeKey: @Sendable (Key) throws -> Data
  let decodeKey: @Sendable (Data) throws -> Key
  let encode: @Sendable (Value) throws -> Data
  let decode: @Sendable (Data) throws -> Value

  /// Makes a coder from closures; an error of `decode` makes a record a miss.
  public init(
    encodeKey: @escaping @Sendable (Key) throws -> Data, decodeKey: @escaping @Sendable (Data) throws -> Key,
    encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.encodeKey = encodeKey
    self.decodeKey = decodeKey
    self.encode = encode
    self.decode = decode
  }
}

extension RecordCoder where Key: Codable, Value: Codable {
  /// JSON: values by `JSONCoder`, keys by Foundation, with sorted properties.
  ///
  /// Keys whose JSON differs must not be equal. Those of `String` may be: its `==` takes "é" as one code point and as
  /// two for the same, so a record that is written under one is not found, or removed, under the other. So may those of
  /// `Double`: 0 and -0. If both may occur, use a key that compares bytes: `Data(text.utf8)`, or a type with its own
  /// `==`.
  public static var json: RecordCoder {
    RecordCoder(
      encodeKey: { try JSONEncoder.sorted.encode($0) }, decodeKey: { try JSONDecoder().decode(Key.self, from: $0) },
      encode: { try JSONCoder().encode($0) }, decode: { try JSONCoder().decode(Value.self, from: $0) })
  }
}

extension JSONEncoder {
  static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
