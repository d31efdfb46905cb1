import Synchronization

/// What was found out about types, for all who ask: a look at a type's conformances takes longer than a short text.
final class TypeCache<Value: Sendable>: Sendable {
  private let table = Mutex(TypeTable<Value>())

  /// What is known by now, to be asked without a lock.
  var known: TypeTable<Value> { table.withLock { $0 } }

  /// What is known about a type, or else is found out now.
  func value(for type: Any.Type, look: () -> Value) -> Value {
    if let value = known[type] { return value }
    let value = look()
    table.withLock { $0 = $0.adding(value, for: type) }
    return value
  }
}
