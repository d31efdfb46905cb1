/// The elements of an array.
struct StreamUnkeyedContainer: UnkeyedEncodingContainer {
  private let encoder: StreamEncoder

  init(_ encoder: StreamEncoder) {
    self.encoder = encoder
  }

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  mutating func encodeNil() throws { try encoder.encodeElement(Int?.none) }

  mutating func encode<Value: Encodable>(_ value: Value) throws { try encoder.encodeElement(value) }

  // The standard library rejects these two types unless a container has its own methods for them.

  mutating func encode(_ value: Int128) throws { try encoder.encodeElement(value) }

  mutating func encode(_ value: UInt128) throws { try encoder.encodeElement(value) }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { nested() }

  private func nested() -> StreamEncoder { encoder.nestedEncoder(key: JSONKey(intValue: encoder.count)) }
}
