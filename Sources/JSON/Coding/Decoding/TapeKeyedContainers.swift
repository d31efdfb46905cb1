/// Makes containers of a type that it knows from its own, so that nobody looks for it.
final class TapeKeyedContainers<Key, Container: TapeContainer<Key>>: KeyedContainers<Key>, @unchecked Sendable {
  // Unchecked, as it holds nothing.
  override func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container(decoder))
  }
}
