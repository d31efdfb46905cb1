extension JSONCoder {
  /// What was found out about types, for all coders of a kind: a coder is made as quickly as it is copied.
  struct StrategyCache: Sendable {
    private let allowsDirect: Bool
    private let decodingCache = TypeCache<DecodingStrategy>()
    private let encodingCache = TypeCache<EncodingStrategy>()

    static let direct = StrategyCache(allowsDirect: true)
    static let byOptions = StrategyCache(allowsDirect: false)

    private init(allowsDirect: Bool) {
      self.allowsDirect = allowsDirect
    }

    /// What is known by now.
    var decoding: TypeTable<DecodingStrategy> { decodingCache.known }
    var encoding: TypeTable<EncodingStrategy> { encodingCache.known }

    /// How values of a type are read.
    func decoding(of type: Any.Type) -> DecodingStrategy {
      decodingCache.value(for: type) { DecodingStrategy(type, allowsDirect: allowsDirect) }
    }

    /// How values of a type are written.
    func encoding(of type: Any.Type) -> EncodingStrategy {
      encodingCache.value(for: type) { EncodingStrategy(type, allowsDirect: allowsDirect) }
    }
  }
}
