/// Makes containers of a type that its own type names, so that the runtime need not look it up.
final class TapeKeyedContainers<Key, Container: TapeContainer<Key>>: KeyedContainers<Key>, @unchecked Sendable {
  // Unchecked, since it has no stored properties.
  override func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container(decoder))
  }
}
