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
/// write: every ``pollInterval``, this looks for the number of the last row.
public final class GRDBRecords: RecordStorage {
  /// How often a store looks whether other processes have written something.
  public let pollInterval: Duration

  private let database: any DatabaseWriter
  private let partition: Data

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
              partition BLOB NOT NULL, number INTEGER NOT NULL, journal INTEGER NOT NULL, bytes BLOB NOT NULL,
              PRIMARY KEY (partition, number));
            CREATE TABLE IF NOT EXISTS refusedAccount (partition BLOB PRIMARY KEY NOT NULL);
            """)
        return .commit
      }
    }
  }

  /// The rows after a position, in one transaction.
  public func read(after position: RecordPosition?) throws -> RecordTail {
    try database.read { database in
      guard let last = try last(database) else { return RecordTail(last: nil) }
      var start = Int64.min
      if let position, position.journal == last.journal {
        let next = Int64(bitPattern: position.number) + 1
        let first = try Int64.fetchOne(
          database, sql: "SELECT min(number) FROM recordEntry WHERE partition = ?", arguments: [partition])
        if let first, first <= next { start = next }
      }
      let entries = try GRDB.Row.fetchAll(
        database, sql: "SELECT number, bytes FROM recordEntry WHERE partition = ? AND number >= ? ORDER BY number",
        arguments: [partition, start]
      ).map { row in
        let number = UInt64(bitPattern: row["number"] as Int64)
        return RecordEntry(RecordPosition(journal: last.journal, number: number), [UInt8](row["bytes"] as Data))
      }
      return RecordTail(last: last, entries: entries)
    }
  }

  /// Inserts a row, if the last one is the expected one.
  public func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
    try change(after: position) { try insert(entry, $0) }
  }

  /// Replaces all rows of the partition by one, if the last one is the expected one.
  public func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
    try change(after: position) { database in
      try database.execute(sql: "DELETE FROM recordEntry WHERE partition = ?", arguments: [partition])
      try insert(entry, database)
    }
  }

  /// Deletes all rows of the partition.
  public func removeAll() throws {
    try database.write {
      try $0.execute(sql: "DELETE FROM recordEntry WHERE partition = ?", arguments: [partition])
    }
  }

  /// Deletes all rows of the partition, and what is known of a refusal.
  public func signOut() throws {
    try removeAll()
    try setRefused(false)
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
      let polling = Polling(every: pollInterval) { [database] in try database.read { try self.last($0) } }
      polling.begin(observer)
      return Disposables.create { polling.end() }
    }
  }

  private func last(_ database: Database) throws -> RecordPosition? {
    try GRDB.Row.fetchOne(
      database, sql: "SELECT journal, number FROM recordEntry WHERE partition = ? ORDER BY number DESC LIMIT 1",
      arguments: [partition]
    ).map { row in
      RecordPosition(
        journal: UInt64(bitPattern: row["journal"] as Int64), number: UInt64(bitPattern: row["number"] as Int64))
    }
  }

  private func insert(_ entry: RecordEntry, _ database: Database) throws {
    try database.execute(
      sql: "INSERT INTO recordEntry (partition, number, journal, bytes) VALUES (?, ?, ?, ?)",
      arguments: [
        partition, Int64(bitPattern: entry.position.number), Int64(bitPattern: entry.position.journal),
        Data(entry.bytes),
      ])
  }

  private func change(after position: RecordPosition?, _ body: (Database) throws -> Void) throws -> Bool {
    try database.writeWithoutTransaction { database in
      var isDone = false
      // A transaction that begins with a read could not write if another process has written meanwhile.
      try database.inTransaction(.immediate) {
        guard try last(database) == position else { return .rollback }
        try body(database)
        isDone = true
        return .commit
      }
      return isDone
    }
  }
}

/// Looks again and again for the last position, on a thread of the system's, since it waits for the database.
private final class Polling: Sendable {
  private struct State {
    var seen: RecordPosition?
    var next: (any Disposable)?
    var isEnded = false
  }

  private let interval: Duration
  private let last: @Sendable () throws -> RecordPosition?
  private let state: Mutex<State>

  init(every interval: Duration, _ last: @escaping @Sendable () throws -> RecordPosition?) {
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
