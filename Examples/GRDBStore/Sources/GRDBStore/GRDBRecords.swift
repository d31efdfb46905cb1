import Foundation
public import GRDB
public import Stores
public import Streams
import Synchronization

/// A table of an SQLite database, accessed with GRDB.swift, as the place of a normalised store's records.
///
///     let database = try DatabasePool.ofStores(at: path)
///     let store = NormalizedStore(client, schema: schema, storage: try GRDBRecords(database, partition: accountID))
///
/// Any number of partitions, stores and processes may share one database. SQLite tells no process of what others
/// write: every ``pollInterval``, this looks for the tag of the last row.
public final class GRDBRecords: RecordStorage {
  /// How often a store looks whether other processes have written something.
  public let pollInterval: Duration

  private let database: any DatabaseWriter
  private let partition: Data
  /// The last row that was read or written here, with its tag: after a backup was restored, another one may have its place.
  private let seen = Mutex<(position: RecordPosition, tag: Int64)?>(nil)

  /// Uses a database, in which the tables are created if they do not exist. See ``GRDBStore/init(_:partition:)`` for how
  /// it should be configured.
  /// - Parameters:
  ///   - partition: Identifies the account.
  ///   - pollInterval: How often to look for what others have written; 100 milliseconds by default.
  public init(
    _ database: some DatabaseWriter, partition: String = "", pollInterval: Duration = .milliseconds(100)
  ) throws {
    (self.database, self.pollInterval) = (database, pollInterval)
    self.partition = Data(partition.utf8)
    try database.barrierWriteWithoutTransaction { database in
      try database.inTransaction(.immediate) {
        try database.execute(
          sql: """
            CREATE TABLE IF NOT EXISTS recordEntry (
              partition BLOB NOT NULL, number INTEGER NOT NULL, journal INTEGER NOT NULL, tag INTEGER NOT NULL,
              bytes BLOB NOT NULL, PRIMARY KEY (partition, number));
            CREATE TABLE IF NOT EXISTS refusedAccount (partition BLOB PRIMARY KEY NOT NULL);
            """)
        return .commit
      }
    }
  }

  /// The rows after a position, in one transaction.
  public func read(after position: RecordPosition?) throws -> RecordTail {
    let (tail, tag) = try database.read { database -> (RecordTail, Int64) in
      guard let (last, tag) = try last(database) else { return (RecordTail(last: nil), 0) }
      let known = try position.flatMap { position in
        try isKnown(position, last, database) ? Int64(bitPattern: position.number) : nil
      }
      let entries = try GRDB.Row.fetchAll(
        database,
        sql: "SELECT number, bytes FROM recordEntry WHERE partition = ? AND (? IS NULL OR number > ?) ORDER BY number",
        arguments: [partition, known, known]
      ).map { row in
        let number = UInt64(bitPattern: row["number"] as Int64)
        return RecordEntry(RecordPosition(journal: last.journal, number: number), [UInt8](row["bytes"] as Data))
      }
      return (RecordTail(last: last, entries: entries), tag)
    }
    seen.withLock { $0 = tail.last.map { ($0, tag) } }
    return tail
  }

  /// Whether a position is that of a row, as it was seen here, or directly before the first.
  private func isKnown(_ position: RecordPosition, _ last: RecordPosition, _ database: Database) throws -> Bool {
    guard position.journal == last.journal else { return false }
    let number = Int64(bitPattern: position.number)
    let tag = try Int64.fetchOne(
      database, sql: "SELECT tag FROM recordEntry WHERE partition = ? AND number = ?", arguments: [partition, number])
    if let tag { return isSeen(position, tag) }
    let first = try Int64.fetchOne(
      database, sql: "SELECT min(number) FROM recordEntry WHERE partition = ?", arguments: [partition])
    return first == number &+ 1
  }

  /// Whether a row is the one that was seen in its place, as far as that is known.
  private func isSeen(_ position: RecordPosition, _ tag: Int64) -> Bool {
    seen.withLock { $0.map { $0.position != position || $0.tag == tag } ?? true }
  }

  /// Inserts a row, if the last one is the expected one.
  public func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
    try change(to: entry, after: position) { _ in }
  }

  /// Replaces all rows of the partition by one, if the last one is the expected one.
  public func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
    try change(to: entry, after: position) { database in
      try database.execute(sql: "DELETE FROM recordEntry WHERE partition = ?", arguments: [partition])
    }
  }

  /// Deletes all rows of the partition.
  public func removeAll() throws {
    try database.write {
      try $0.execute(sql: "DELETE FROM recordEntry WHERE partition = ?", arguments: [partition])
    }
  }

  /// Deletes all rows of the partition but a new one, and what is known of a refusal, in one step.
  public func signOut(leaving mark: RecordEntry) throws {
    let tag = Int64.random(in: .min ... .max)
    try database.write { database in
      for table in ["recordEntry", "refusedAccount"] {
        try database.execute(sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
      }
      try insert(mark, tag, database)
    }
  }

  /// Whether the partition is among those that were refused; also if that cannot be read.
  public var isRefused: Bool {
    (try? database.read {
      try Bool.fetchOne(
        $0, sql: "SELECT EXISTS (SELECT 1 FROM refusedAccount WHERE partition = ?)", arguments: [partition])
    }) != false
  }

  /// Adds the partition to those that were refused, or removes it from them.
  public func setRefused(_ isRefused: Bool) throws {
    try database.write {
      try $0.execute(
        sql: isRefused
          ? "INSERT OR IGNORE INTO refusedAccount VALUES (?)" : "DELETE FROM refusedAccount WHERE partition = ?",
        arguments: [partition])
    }
  }

  /// An event whenever others have written to the database, found by looking every ``pollInterval``. What this object's
  /// own database has written may be among it.
  public var changes: Observable<Void> {
    .create { [self] observer in
      let polling = Polling(every: pollInterval) { [database] in
        try database.read { try self.last($0)?.tag }
      }
      polling.begin(observer)
      return Disposables.create { polling.end() }
    }
  }

  private func last(_ database: Database) throws -> (position: RecordPosition, tag: Int64)? {
    try GRDB.Row.fetchOne(
      database, sql: "SELECT journal, number, tag FROM recordEntry WHERE partition = ? ORDER BY number DESC LIMIT 1",
      arguments: [partition]
    ).map { row in
      let position = RecordPosition(
        journal: UInt64(bitPattern: row["journal"] as Int64), number: UInt64(bitPattern: row["number"] as Int64))
      return (position, row["tag"] as Int64)
    }
  }

  private func insert(_ entry: RecordEntry, _ tag: Int64, _ database: Database) throws {
    try database.execute(
      sql: "INSERT INTO recordEntry (partition, number, journal, tag, bytes) VALUES (?, ?, ?, ?, ?)",
      arguments: [
        partition, Int64(bitPattern: entry.position.number), Int64(bitPattern: entry.position.journal), tag,
        Data(entry.bytes),
      ])
  }

  private func change(
    to entry: RecordEntry, after position: RecordPosition?, _ prepare: (Database) throws -> Void
  ) throws -> Bool {
    let tag = Int64.random(in: .min ... .max)
    let isDone = try database.writeWithoutTransaction { database in
      var isDone = false
      // A transaction that begins with a read could not write if another process has written meanwhile.
      try database.inTransaction(.immediate) {
        let last = try last(database)
        guard last?.position == position, last.map({ isSeen($0.position, $0.tag) }) ?? true else { return .rollback }
        try prepare(database)
        try insert(entry, tag, database)
        isDone = true
        return .commit
      }
      return isDone
    }
    if isDone { seen.withLock { $0 = (entry.position, tag) } }
    return isDone
  }
}

/// Looks again and again for the tag of the last row, on a thread of the system's, since it waits for the database.
private final class Polling: Sendable {
  private struct State {
    var seen: Int64?
    var next: (any Disposable)?
    var isEnded = false
  }

  private let interval: Duration
  private let last: @Sendable () throws -> Int64?
  private let state: Mutex<State>

  init(every interval: Duration, _ last: @escaping @Sendable () throws -> Int64?) {
    (self.interval, self.last) = (interval, last)
    state = Mutex(State(seen: try? last()))
  }

  func begin(_ observer: AnyObserver<Void>) {
    state.withLock { state in
      if state.isEnded { return }
      state.next = ElasticScheduler().schedule(after: interval) { [weak self] in self?.look(observer) }
    }
  }

  private func look(_ observer: AnyObserver<Void>) {
    // Where it cannot be read, the next look finds what has changed.
    if let found = try? Optional.some(last()) {
      let isNew = state.withLock { state in
        defer { state.seen = found }
        return state.seen != found
      }
      if isNew { observer.onNext(()) }
    }
    begin(observer)
  }

  func end() {
    state.withLock { state in
      state.isEnded = true
      state.next?.dispose()
      state.next = nil
    }
  }
}
