extension JSONCoder {
  /// The strategies of types, shared by all coders of one kind, so that making a coder is as cheap as copying one.
  struct StrategyCache: Sendable {
    private let allowsDirect: Bool
    private let decodingCache = TypeCache<DecodingStrategy>()
    private let encodingCache = TypeCache<EncodingStrategy>()

    static let direct = StrategyCache(allowsDirect: true)
    static let byOptions = StrategyCache(allowsDirect: false)

    private init(allowsDirect: Bool) {
      self.allowsDirect = allowsDirect
    }

    /// The strategies that are known so far.
    var decoding: TypeTable<DecodingStrategy> { decodingCache.known }
    var encoding: TypeTable<EncodingStrategy> { encodingCache.known }

    /// How to read values of a type.
    func decoding(of type: Any.Type) -> DecodingStrategy {
      decodingCache.value(for: type) { DecodingStrategy(type, allowsDirect: allowsDirect) }
    }

    /// How to write values of a type.
    func encoding(of type: Any.Type) -> EncodingStrategy {
      encodingCache.value(for: type) { EncodingStrategy(type, allowsDirect: allowsDirect) }
    }
  }
}
