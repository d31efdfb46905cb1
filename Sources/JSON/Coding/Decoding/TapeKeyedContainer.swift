/// The members of an object.
struct TapeKeyedContainer<Key: CodingKey>: TapeContainer {
  private let decoder: TapeDecoder

  init(_ decoder: TapeDecoder) {
    self.decoder = decoder
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] { decoder.memberNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { decoder.value(of: key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder.isNull(of: key.stringValue) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder.decodeMember(type, key.stringValue)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try decoder.decodeMemberIfPresent(type, key.stringValue)
  }

  // The generic methods would do, but get their types at run time; in these the types are known.

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(key.stringValue) }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(key.stringValue) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.int(key.stringValue) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.double(key.stringValue) }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try decoder.stringIfPresent(key.stringValue)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try decoder.boolIfPresent(key.stringValue)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try decoder.intIfPresent(key.stringValue)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try decoder.doubleIfPresent(key.stringValue)
  }

  // The standard library rejects these two types unless a container has its own methods for them.

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try decoder.decodeMember(type, key.stringValue)
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try decoder.decodeMember(type, key.stringValue)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.decoder(of: key.stringValue).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.decoder(of: key.stringValue).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { decoder.superDecoder("super") }

  func superDecoder(forKey key: Key) throws -> any Decoder { decoder.superDecoder(key.stringValue) }
}
