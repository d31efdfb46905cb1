import Synchronization

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
