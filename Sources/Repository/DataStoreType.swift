public import Streams

/// Keeps one value for each key, and tells who watches a key of each new one.
public protocol DataStoreType<Key, Value>: Sendable {
  /// What values are found by.
  associatedtype Key: Hashable & Sendable

  /// What is kept.
  associatedtype Value: Sendable

  /// The live stream of a key: its latest value at once, where there is one, then each that is saved. It does not end
  /// by itself.
  func values(for key: Key) -> Observable<Value>

  /// Puts a value in the place of the one before, and tells who watches the key; what it throws fails the request
  /// whose answer was to be kept.
  func save(_ value: Value, for key: Key) throws
}
