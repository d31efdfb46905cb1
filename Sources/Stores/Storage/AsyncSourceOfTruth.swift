public import Streams

/// Keeps the values of one partition where reading them takes a round trip, and where other processes change them: in
/// Redis, for example. The counterpart of ``SourceOfTruth`` for many processes; the product `StoreConformance` checks it.
///
/// A store never waits for it on a thread, and no operation longer than ``timeLimit``: after that, a value counts as
/// missing, and the network is asked; and a write counts as failed. An operation that takes longer is cancelled, and must
/// then return soon. What has failed is tried again, after pauses of up to 30 seconds, and at once when ``changes``
/// reports ``SourceChange/all``.
///
/// **Versions.** Everything that is written, invalidated or removed has an ``EntryVersion``, and of two changes of a key
/// the greater one stays, in whichever order they arrive: a change that was delayed by an outage, or a response that was
/// asked for before another process has written, does not replace what is newer. So a source keeps for each key
///
/// - the version of its value;
/// - for some time, such as an hour, the versions of its latest removal and invalidation, also without a value; and the
///   same for a removal of everything.
///
/// Methods are called on any thread, and several at once. A store changes a key in the order of its own calls, one at a
/// time; changes of several keys overlap; and it removes everything while nothing else is changed.
public protocol AsyncSourceOfTruth<Key, Value>: Sendable {
  /// The type of keys.
  associatedtype Key: Hashable & Sendable

  /// The type of values.
  associatedtype Value: Sendable

  /// How long an operation may take; 100 milliseconds unless implemented.
  var timeLimit: Duration { get }

  /// What is the same for every object that opens the same partition, in this process, such as an address with the
  /// account; `nil` unless implemented. By it, the account's stores learn from one another that the server has refused the
  /// account (401), so that its values stay hidden in the next store, and that it was signed out.
  var identity: String? { get }

  /// What others change, as far as it concerns this partition; nothing unless implemented. What the store writes itself
  /// may be among it. A store subscribes once, and unsubscribes when it is released.
  var changes: Observable<SourceChange<Key>> { get }

  /// The value of a key; `nil` if there is none, or it cannot be read completely.
  func read(_ key: Key) async throws -> StoredValue<Value>?

  /// Replaces the value of a key, unless a value, or a removal, of a greater version is there. If the key was invalidated
  /// with a greater version, the value is kept as one that is out of date.
  ///
  /// `isResponse` says whether the value is the response to a request. If so, and if the source knows that the key was
  /// written by others since the request began, it must refuse it, whatever the versions are.
  func write(
    _ stored: StoredValue<Value>, for key: Key, isResponse: Bool
  ) async throws -> SourceWriteResult

  /// Marks the value of a key as out of date, if there is one, whichever process wrote it, unless it has a greater
  /// version. The value keeps its version.
  func invalidate(_ key: Key, version: EntryVersion) async throws -> SourceWriteResult

  /// Removes the value of a key, if there is one, unless it has a greater version.
  func remove(_ key: Key, version: EntryVersion) async throws -> SourceWriteResult

  /// Removes all values of the partition, whatever their versions are. Values of smaller versions are then refused.
  ///
  /// A sign-out that has failed is tried again key by key, with ``keys()`` and ``remove(_:version:)``, once the account's next
  /// session has begun in this process, which is known by ``identity``: what that has written stays.
  func removeAll(version: EntryVersion) async throws

  /// The keys that have a value, in any order; may include keys whose value cannot be read.
  func keys() async throws -> [Key]
}

extension AsyncSourceOfTruth {
  /// 100 milliseconds.
  public var timeLimit: Duration { .milliseconds(100) }

  /// `nil`.
  public var identity: String? { nil }

  /// Nothing.
  public var changes: Observable<SourceChange<Key>> { .never() }
}

/// What became of a change of an asynchronous source of truth.
public enum SourceWriteResult: Sendable, Hashable {
  /// It is in the source.
  case done

  /// What the source has is newer, and stays; its version, or ``EntryVersion/zero`` if it is not known.
  case superseded(by: EntryVersion)
}

/// What others have changed in a source of truth.
public enum SourceChange<Key: Hashable & Sendable>: Sendable, Equatable {
  /// The value of a key was written, invalidated or removed.
  case key(Key)

  /// Any value may have changed: the source was away, for example, and is back.
  case all
}
