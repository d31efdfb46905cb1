/// The members of an object.
struct StreamKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: StreamEncoder

  init(_ encoder: StreamEncoder) {
    self.encoder = encoder
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  mutating func encodeNil(forKey key: Key) throws {
    encoder.output.writer.pointee.writeKey(encoder.name(of: key))
    encoder.output.writer.pointee.writeNull()
  }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  // The standard library rejects these two types unless a container has its own methods for them.

  mutating func encode(_ value: Int128, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  mutating func encode(_ value: UInt128, forKey key: Key) throws {
    try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nestedMember(key, as: .object).container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.nestedMember(key, as: .array).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { nested(JSONKey(stringValue: "super")) }

  mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

  private func nested(_ key: some CodingKey) -> StreamEncoder {
    encoder.output.writer.pointee.writeKey(encoder.name(of: key))
    return encoder.nestedEncoder(key: key)
  }
}
