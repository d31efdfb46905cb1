/// Makes the containers for keys of a type.
///
/// The runtime takes longer to find the types of a generic container than to read a member with it: who has made one, has
/// them at hand.
class AnyKeyedContainers: @unchecked Sendable {
  // Unchecked, as subclasses hold nothing.
  /// By the types of the keys.
  static let cache = TypeCache<AnyKeyedContainers>()
}

/// Makes containers of whatever type for keys of this one.
class KeyedContainers<Key: CodingKey>: AnyKeyedContainers, @unchecked Sendable {
  func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(TapeKeyedContainer<Key>(decoder))
  }
}

/// Makes containers of a type, which it knows from its own.
final class TapeKeyedContainers<Key, Container: TapeContainer<Key>>: KeyedContainers<Key>, @unchecked Sendable {
  override func container(_ decoder: TapeDecoder) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container(decoder))
  }
}

/// A container that a decoder makes.
protocol TapeContainer<Key>: KeyedDecodingContainerProtocol {
  init(_ decoder: TapeDecoder)
}
