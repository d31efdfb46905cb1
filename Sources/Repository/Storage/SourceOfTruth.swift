/// Keeps the values of one partition across restarts: in files, for example, or a database.
///
/// Methods are called on any thread, and several at once. A store calls the three that write one at a time, in the
/// order of its writes; these must not call back into the store. What is written must be visible to the next read, also
/// in another process that opens the same place later. The product `StoreConformance` checks all of this.
public protocol SourceOfTruth<Key, Value>: Sendable {
  /// The type of keys.
  associatedtype Key: Hashable & Sendable

  /// The type of values.
  associatedtype Value: Sendable

  /// The value of a key; `nil` if there is none, or it cannot be read completely.
  func read(_ key: Key) throws -> StoredValue<Value>?

  /// Replaces the value of a key. After an error, the old value or the new one is there, complete; or none, for example
  /// if the value is too large to be stored.
  func write(_ stored: StoredValue<Value>, for key: Key) throws

  /// Removes the value of a key, if there is one.
  func remove(_ key: Key) throws

  /// Removes all values of the partition; they are gone when this returns.
  func removeAll() throws

  /// The keys that have a value, in any order; may include keys whose value cannot be read.
  func keys() throws -> [Key]
}
