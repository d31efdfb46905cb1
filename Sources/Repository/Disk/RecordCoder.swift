public import Foundation
import JSON

/// Turns keys and values into bytes and back: any pair of closures, or JSON for what is `Codable`.
///
/// The bytes of equal keys are equal. The closures are called on any thread, and several at once.
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
  /// JSON: values by `JSONCoder`, keys by Foundation, which sorts what they are made of.
  ///
  /// A key's `==` must tell apart what its JSON tells apart. That of `String` does not: it takes "é" for the same in
  /// one code point and in two, and a record that was written under the one is not found, or removed, under the other.
  /// Nor does that of `Double`, for 0 and -0. Where both may come, take a key that compares bytes: `Data(text.utf8)`,
  /// say, or a type with an `==` of its own, as ``MomentsKey`` has.
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
