/// Makes containers for keys of this type.
class KeyedContainers<Key: CodingKey>: AnyKeyedContainers, @unchecked Sendable {
  // Unchecked, as it holds nothing.
  func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(TapeKeyedContainer<Key>(decoder))
  }
}
