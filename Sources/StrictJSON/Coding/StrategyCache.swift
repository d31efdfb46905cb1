import Synchronization

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

/// Facts about types, for all who ask: looking up a type's conformances takes longer than reading a short text.
final class TypeCache<Value: Sendable>: Sendable {
  private let table = Mutex(TypeTable<Value>())

  /// What is known so far, for look-ups without a lock.
  var known: TypeTable<Value> { table.withLock { $0 } }

  /// The value for a type; `look` finds it if it is not known yet.
  func value(for type: Any.Type, look: () -> Value) -> Value {
    if let value = known[type] { return value }
    let value = look()
    table.withLock { $0 = $0.adding(value, for: type) }
    return value
  }
}

/// Facts about types. A table never changes, so it can be read from any thread.
final class TypeTable<Value: Sendable>: Sendable {
  private typealias Entry = (type: ObjectIdentifier, value: Value)

  // The number of slots is a power of two, and at least half of them are empty, so that every search ends.
  private let slots: [Entry?]

  init() {
    slots = Array(repeating: nil, count: 16)
  }

  private init(slots: [Entry?]) {
    self.slots = slots
  }

  subscript(type: Any.Type) -> Value? {
    @inline(__always)
    get {
      let type = ObjectIdentifier(type)
      var slot = Self.slot(of: type, among: slots.count)
      while let entry = slots[slot] {
        if entry.type == type { return entry.value }
        slot = (slot + 1) & (slots.count - 1)
      }
      return nil
    }
  }

  /// This table with one more type.
  func adding(_ value: Value, for type: Any.Type) -> TypeTable {
    guard self[type] == nil else { return self }
    let entries = slots.compactMap { $0 } + [(ObjectIdentifier(type), value)]
    var larger = [Entry?](repeating: nil, count: entries.count * 2 > slots.count ? slots.count * 2 : slots.count)
    for entry in entries {
      var slot = Self.slot(of: entry.type, among: larger.count)
      while larger[slot] != nil { slot = (slot + 1) & (larger.count - 1) }
      larger[slot] = entry
    }
    return TypeTable(slots: larger)
  }

  @inline(__always)
  private static func slot(of type: ObjectIdentifier, among count: Int) -> Int {
    // Metadata addresses are multiples of at least eight; the middle bits of the product depend on all bits of the
    // address.
    Int(truncatingIfNeeded: (UInt(bitPattern: type) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (count - 1)
  }
}
