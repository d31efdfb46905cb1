public import Streams
public import SystemBase

/// Where the records of a ``NormalizedStore`` survive, and where processes share them: a database, or Redis, in the place
/// of the file that a folder has. The product `StoreConformance` checks it.
///
/// It keeps a journal of one account: entries with positions that follow one another, each of which says what something is
/// from there on. A store adds what it has changed to its end, and replaces all by a single entry when it has become long.
/// Both do nothing unless the last entry is the one that the store has read last; then it reads what others have added,
/// and tries again. So all processes have the same entries in the same order, and, since the last one counts, the same
/// records.
///
/// A storage that may lose entries, as one that is restored from a backup, must not take others for them that get their
/// positions later: for each, it keeps something of its own, such as a random number. What it gives in their place tells a
/// store that they are lost.
///
/// Methods are called on any thread, one at a time. They may block it for as long as a file system would, and no longer: the
/// first read is made by who uses the store first, unless ``NormalizedStore/load()`` has made it. They must not wait for a
/// task; see ``SourceOfTruth``.
public protocol RecordStorage: Sendable {
  /// What is the same for every object that opens the same storage in this process, such as the path of a file; `nil` unless
  /// implemented. By it, a store finds what the one before it could not write until it ended.
  var identity: String? { get }

  /// What follows a position: all entries, if it is `nil`, or not that of an entry that is still there or directly before
  /// one.
  func read(after position: RecordPosition?) throws -> RecordTail

  /// Adds an entry to the end, if the last one has this position; returns whether it did. It must last when this returns. If
  /// it throws, the entry may be there nevertheless: a store finds out when it reads.
  func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool

  /// Replaces all entries by one, in one step, if the last one has this position, or if there are none and it is `nil`;
  /// returns whether it did.
  func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool

  /// Removes all entries; they are gone when this returns. It is also called if an entry that removes something, such as
  /// what the server has refused, could not be added: it must not be found again, and the rest can be requested. Before that,
  /// a store reads whether the journal is still the one that it knows. If the account was signed out before, the store begins
  /// another one with the mark of that.
  func removeAll() throws

  /// Removes all entries of the account, which ends, also after ``close()``, and leaves one in their place, whatever is there:
  /// by it, a process that knew of no entry notices the sign-out. A storage that only one process has open leaves nothing.
  /// Unless implemented, calls ``removeAll()`` and ``replaceAll(with:after:)``, in steps. After an error, another call tries
  /// again.
  func signOut(leaving mark: RecordEntry) throws

  /// Ends the use of the storage; does nothing unless implemented.
  func close()

  /// Whether the server has refused the account (401), so that its values are hidden until a request succeeds; read when
  /// a store is made. `false` unless implemented.
  var isRefused: Bool { get }

  /// Keeps whether the server has refused the account. Does nothing unless implemented.
  func setRefused(_ isRefused: Bool) throws

  /// An event whenever others may have added, replaced or removed entries, also because the storage was away, and is back.
  /// On it, a store reads what follows, on a thread of its own. Nothing unless implemented, where processes are to share.
  var changes: Observable<Void> { get }
}

extension RecordStorage {
  /// `nil`.
  public var identity: String? { nil }

  /// Calls ``removeAll()`` and ``replaceAll(with:after:)``, again if others add something in between.
  /// - Throws: ``NormalizedStorageError/busy`` if they do so each time.
  public func signOut(leaving mark: RecordEntry) throws {
    for _ in 0..<RecordJournal.attempts {
      try removeAll()
      if try replaceAll(with: mark, after: nil) { return }
    }
    throw NormalizedStorageError.busy
  }

  /// Does nothing.
  public func close() {}

  /// `false`.
  public var isRefused: Bool { false }

  /// Does nothing.
  public func setRefused(_ isRefused: Bool) throws {}

  /// Nothing.
  public var changes: Observable<Void> { .never() }
}

/// The place of an entry in a journal of records.
public struct RecordPosition: Hashable, Sendable {
  /// Tells the journal from others, also from those that were there before it: a random number.
  public var journal: UInt64

  /// The number of the entry, one more than that of the entry before. A journal may begin with any.
  public var number: UInt64

  /// Names a place.
  public init(journal: UInt64, number: UInt64) { (self.journal, self.number) = (journal, number) }

  /// Whether it is in the same journal, before another one.
  func isBefore(_ other: RecordPosition?) -> Bool { journal == other?.journal && number < other?.number ?? 0 }

  /// The place of the next entry.
  public var next: RecordPosition { RecordPosition(journal: journal, number: number &+ 1) }
}

/// A part of a journal of records: what one change has brought, or all that is there. The article `DiskFormat` has the
/// bytes.
public struct RecordEntry: Hashable, Sendable {
  /// Where it stands.
  public var position: RecordPosition

  /// What it says.
  public var bytes: [UInt8]

  /// Makes an entry.
  public init(_ position: RecordPosition, _ bytes: [UInt8]) { (self.position, self.bytes) = (position, bytes) }
}

/// The end of a journal of records.
public struct RecordTail: Hashable, Sendable {
  /// The place of the last entry; `nil` if there is none.
  public var last: RecordPosition?

  /// The entries, in order.
  public var entries: [RecordEntry]

  /// How many bytes after them could not be read, since they are damaged. Then a store takes the entries, reports
  /// ``NormalizedStorageError/damaged(lostBytes:)``, and replaces all of it with the next change. With it, `last` is `nil` if
  /// nothing can be read, which is no removal.
  public var lostBytes: Int

  /// Makes a tail.
  public init(last: RecordPosition?, entries: [RecordEntry] = [], lostBytes: Int = 0) {
    (self.last, self.entries, self.lostBytes) = (last, entries, lostBytes)
  }
}

/// Why a normalised store cannot use its storage, or has lost something of it. Cases may be added.
@nonexhaustive
public enum NormalizedStorageError: Error, Hashable, Sendable {
  /// Another store of the folder and partition is open, in this process or another.
  case alreadyOpen

  /// The journal was damaged: this many bytes at its end were not read, or all of it, if that was not all. They may be what
  /// was being written when a process ended, and was not reported as written.
  case damaged(lostBytes: Int)

  /// Another process, whose schema gives types other keys, has replaced the journal: this store continues in memory.
  case otherKeys

  /// Others have added so much at the same time that a change was not written; it is written with the next one.
  case busy
}

extension NormalizedStorageError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .alreadyOpen:
      "A normalised store of this folder and partition is open, here or in another process: use that one, or close it."
    case .damaged(let count): "The records of a normalised store are damaged; \(count) bytes of them are lost."
    case .otherKeys:
      "Another process has written records of a schema with other keys: this store continues in memory. Give each schema a partition of its own."
    case .busy: "Other processes write records all the time: a change waits for the next one."
    }
  }
}

extension NormalizedStorageError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}
