/// Keeps the values of one partition across restarts: in files, for example, or a database.
///
/// Methods are called on any thread, and several at once. A store calls the three that write one at a time, in the
/// order of its writes; these must not call back into the store. What is written must be visible to the next read, also
/// in another process that opens the same place later.
///
/// They are synchronous, and may be called on a thread of Swift's concurrency pool, which has only as many threads as
/// there are processors. So they may wait for a device, but must not wait for a task, by a semaphore for example: with
/// every thread of the pool waiting like that, the task never runs. Values behind an asynchronous interface
/// are for an ``AsyncSourceOfTruth``. The product `StoreConformance` checks all of this.
public protocol SourceOfTruth<Key, Value>: Sendable {
  /// The type of keys.
  associatedtype Key: Hashable & Sendable

  /// The type of values.
  associatedtype Value: Sendable

  /// Whether a write may wait for another process, such as for the lock of a file; `false` unless implemented. If so,
  /// responses are written on a thread of its own, so that no task waits.
  var waitsForOtherProcesses: Bool { get }

  /// The value of a key; `nil` if there is none, or it cannot be read completely.
  func read(_ key: Key) throws -> StoredValue<Value>?

  /// Replaces the value of a key. After an error, the old value or the new one is there, complete; or none, for example
  /// if the value is too large to be stored.
  func write(_ stored: StoredValue<Value>, for key: Key) throws

  /// Marks the value of a key as out of date, if there is one, also one that another process wrote. Reads and writes it
  /// unless implemented.
  func invalidate(_ key: Key) throws

  /// Removes the value of a key, if there is one.
  func remove(_ key: Key) throws

  /// Removes all values of the partition; they are gone when this returns.
  func removeAll() throws

  /// Removes all values of the partition, whose account ends: nothing that was opened before may write to it any more,
  /// in this process or another, and ``StoreError/signedOut`` is the error if it tries. The same as ``removeAll()``
  /// unless implemented; after an error, another call tries again.
  func signOut() throws

  /// The keys that have a value, in any order; may include keys whose value cannot be read.
  func keys() throws -> [Key]

  /// The keys that have a value, also if some cannot be listed: the closure is called with the errors. It is not called
  /// unless implemented.
  func keys(onUnreadable: (any Error) -> Void) throws -> [Key]

  /// What is the same for every object that opens the same partition, in this process, such as a path; `nil` unless
  /// implemented. What could not be written yet is then found by the next store of the partition; without it, by the
  /// same ``StoreGroup`` alone.
  var identity: String? { get }

  /// Whether the server has refused the account (401), so that its values are hidden until a request succeeds; kept
  /// across restarts. `false` unless implemented.
  var isRefused: Bool { get }

  /// Keeps whether the server has refused the account. Does nothing unless implemented.
  func setRefused(_ isRefused: Bool) throws
}

extension SourceOfTruth {
  /// `false`.
  public var waitsForOtherProcesses: Bool { false }

  /// Reads the value, and writes it with the mark.
  public func invalidate(_ key: Key) throws {
    guard var stored = try read(key), !stored.isInvalidated else { return }
    stored.isInvalidated = true
    try write(stored, for: key)
  }

  /// Calls ``removeAll()``.
  public func signOut() throws { try removeAll() }

  /// Calls ``keys()``.
  public func keys(onUnreadable: (any Error) -> Void) throws -> [Key] { try keys() }

  /// `nil`.
  public var identity: String? { nil }

  /// `false`.
  public var isRefused: Bool { false }

  /// Does nothing.
  public func setRefused(_ isRefused: Bool) throws {}
}

/// A value as a source of truth keeps it.
public struct StoredValue<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// When the server returned it, or it was saved.
  public var writtenAt: StoreTime

  /// Whether it has been invalidated since.
  public var isInvalidated: Bool

  /// Which state of the key it is. A source of truth keeps it, and returns it with the value.
  public var version: EntryVersion

  /// Makes a value to be stored.
  public init(
    _ value: Value, writtenAt: StoreTime, isInvalidated: Bool = false, version: EntryVersion = .zero
  ) {
    self.value = value
    self.writtenAt = writtenAt
    self.isInvalidated = isInvalidated
    self.version = version
  }
}

extension StoredValue: Equatable where Value: Equatable {}

extension StoredValue: Hashable where Value: Hashable {}
