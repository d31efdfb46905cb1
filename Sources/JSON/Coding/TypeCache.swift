import Synchronization

/// What was found out about a few types; of more it forgets some.
struct TypeCache<Value> {
  private static var size: Int { 16 }
  private var entries: [(type: Any.Type, value: Value)?] = Array(repeating: nil, count: size)

  subscript(type: Any.Type) -> Value? {
    @inline(__always)
    get {
      guard let entry = entries[Self.place(type)], entry.type == type else { return nil }
      return entry.value
    }
    set { entries[Self.place(type)] = newValue.map { (type, $0) } }
  }

  /// Metadata lie at addresses of at least eight bytes apart.
  @inline(__always)
  private static func place(_ type: Any.Type) -> Int {
    let address = UInt(bitPattern: ObjectIdentifier(type))
    return Int(truncatingIfNeeded: (address >> 3 ^ address >> 8) % UInt(size))
  }
}

/// What was found out about types, for all who ask: a look at a type's conformances takes longer than a short text.
final class SharedTypeCache<Value: Sendable>: Sendable {
  private let values = Mutex<[ObjectIdentifier: Value]>([:])
  private let look: @Sendable (Any.Type) -> Value

  init(_ look: @escaping @Sendable (Any.Type) -> Value) {
    self.look = look
  }

  subscript(type: Any.Type) -> Value {
    if let value = values.withLock({ $0[ObjectIdentifier(type)] }) { return value }
    let value = look(type)
    values.withLock { $0[ObjectIdentifier(type)] = value }
    return value
  }
}
