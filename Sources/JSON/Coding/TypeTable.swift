/// What was found out about types; it never changes, so that anybody may read it at any time.
final class TypeTable<Value: Sendable>: Sendable {
  private typealias Entry = (type: ObjectIdentifier, value: Value)

  // A power of two, at least half of them empty, so that every search ends.
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

  /// The same with one type more.
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
    // Metadata lie at addresses of at least eight bytes apart; the product's middle depends on all of them.
    Int(truncatingIfNeeded: (UInt(bitPattern: type) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (count - 1)
  }
}
