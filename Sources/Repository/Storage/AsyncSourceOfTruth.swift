public import Streams

/// Keeps the values of one partition where reading them takes a round trip, and where other processes change them: in
/// Redis, for example. The counterpart of ``SourceOfTruth`` for many processes; the product `StoreConformance` checks it.
///
/// A store never waits for it on a thread, and no read waits longer than ``timeLimit``: after that, the value counts as
/// missing, and the network is asked. An operation that takes longer is cancelled, and must then return soon.
///
/// Methods are called on any thread, and several at once. A store writes a key in the order of its own writes, one at a
/// time; writes of several keys overlap; and it removes everything while nothing else is written.
public protocol AsyncSourceOfTruth<Key, Value>: Sendable {
  /// The type of keys.
  associatedtype Key: Hashable & Sendable

  /// The type of values.
  associatedtype Value: Sendable

  /// How long an operation may take; 100 milliseconds unless implemented.
  var timeLimit: Duration { get }

  /// What others change, as far as it concerns this partition; nothing unless implemented. What the store writes itself
  /// may be among it. A store subscribes once, and unsubscribes when it is released.
  var changes: Observable<SourceChange<Key>> { get }

  /// The value of a key; `nil` if there is none, or it cannot be read completely.
  func read(_ key: Key) async throws -> StoredValue<Value>?

  /// Replaces the value of a key.
  ///
  /// `isResponse` says whether the value is the response to a request. If so, and if the source knows that the key was
  /// written by others since the request began, it must drop the response, and report the key in ``changes``.
  func write(_ stored: StoredValue<Value>, for key: Key, isResponse: Bool) async throws

  /// Marks the value of a key as out of date, if there is one, whichever process wrote it.
  func invalidate(_ key: Key) async throws

  /// Removes the value of a key, if there is one.
  func remove(_ key: Key) async throws

  /// Removes all values of the partition.
  func removeAll() async throws

  /// The keys that have a value, in any order; may include keys whose value cannot be read.
  func keys() async throws -> [Key]
}

extension AsyncSourceOfTruth {
  /// 100 milliseconds.
  public var timeLimit: Duration { .milliseconds(100) }

  /// Nothing.
  public var changes: Observable<SourceChange<Key>> { .never() }
}

/// What others have changed in a source of truth.
public enum SourceChange<Key: Hashable & Sendable>: Sendable, Equatable {
  /// The value of a key was written, invalidated or removed.
  case key(Key)

  /// Any value may have changed: the source was away, for example, and is back.
  case all
}
