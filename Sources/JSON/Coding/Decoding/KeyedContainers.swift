/// Makes containers for keys of this type.
class KeyedContainers<Key: CodingKey>: AnyKeyedContainers, @unchecked Sendable {
  // Unchecked, since it has no stored properties.
  func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(TapeKeyedContainer<Key>(decoder))
  }
}
