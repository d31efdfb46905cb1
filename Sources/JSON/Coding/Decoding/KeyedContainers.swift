/// Makes the containers for keys of some type.
///
/// The runtime takes longer to put together the type of a generic container than a member takes to be read: who has made
/// one of a type has it at hand for the next.
class AnyKeyedContainers: @unchecked Sendable {
  // Unchecked, as neither this nor a subclass holds anything.
  /// By the types of the keys.
  static let cache = TypeCache<AnyKeyedContainers>()
}

/// Makes containers for keys of this type.
class KeyedContainers<Key: CodingKey>: AnyKeyedContainers, @unchecked Sendable {
  func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(TapeKeyedContainer<Key>(decoder))
  }
}

/// Makes containers of a type that it knows from its own, so that nobody looks for it.
final class TapeKeyedContainers<Key, Container: TapeContainer<Key>>: KeyedContainers<Key>, @unchecked Sendable {
  override func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container(decoder))
  }
}

/// A container that a decoder makes.
protocol TapeContainer<Key>: KeyedDecodingContainerProtocol {
  init(_ decoder: TapeDecoder)
}
