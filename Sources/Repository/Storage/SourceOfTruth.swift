/// Keeps the values of one partition beyond the life of the process: a folder of files, or a database.
///
/// Methods are called on any thread, and several at once. A store calls the three that write one at a time, in the
/// order of its writes; these must not call back into the store. What is written is there for the next read, also in
/// another process that opens the same place later. The product `StoreConformance` checks all of this.
public protocol SourceOfTruth<Key, Value>: Sendable {
  /// What values are found by.
  associatedtype Key: Hashable & Sendable

  /// What is kept.
  associatedtype Value: Sendable

  /// The value of a key; `nil` where there is none, and where what is there cannot be read whole.
  func read(_ key: Key) throws -> StoredValue<Value>?

  /// Puts a value in the place of the one before. After an error the old one is there or the new one, whole; or none, where
  /// the place refuses a value for its size, say.
  func write(_ stored: StoredValue<Value>, for key: Key) throws

  /// Removes the value of a key, where there is one.
  func remove(_ key: Key) throws

  /// Removes all values of the partition; they are gone when it returns.
  func removeAll() throws

  /// The keys that have a value, in no order; those of values that cannot be read may be among them.
  func keys() throws -> [Key]
}
