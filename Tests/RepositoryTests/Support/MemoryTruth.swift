import Repository

/// A source of truth in memory.
final class MemoryTruth<Key: Hashable & Sendable, Value: Sendable>: SourceOfTruth {
  private let values = Mutable<[Key: StoredValue<Value>]>([:])

  func read(_ key: Key) -> StoredValue<Value>? { values.value[key] }
  func write(_ stored: StoredValue<Value>, for key: Key) { values.update { $0[key] = stored } }
  func remove(_ key: Key) { values.update { $0[key] = nil } }
  func removeAll() { values.update { $0 = [:] } }
  func keys() -> [Key] { Array(values.value.keys) }
}
