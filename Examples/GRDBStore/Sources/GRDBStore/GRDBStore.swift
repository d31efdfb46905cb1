public import Foundation
public import GRDB
public import Stores

/// A table of an SQLite database, accessed with GRDB.swift, as the source of truth of a store.
///
///     let database = try DatabasePool.ofStores(at: path)
///     let store = Store(.ofStream { ... }, storage: .source(try GRDBStore<String, User>(database, partition: accountID)))
///
/// Keys and values are JSON. Any number of partitions, stores and processes may share one database. It should be one of
/// their own: an application's migrator with `eraseDatabaseOnSchemaChange` takes a table that it does not know for a
/// change of its schema, and erases everything.
public final class GRDBStore<Key: Codable & Hashable & Sendable, Value: Codable & Sendable>: SourceOfTruth {
  private let database: any DatabaseWriter
  // Data rather than text, since SQLite would cut a text at its first NUL.
  private let partition: Data

  /// Uses a database, in which the table is created if it does not exist. Its configuration should have a `busyMode` with
  /// a timeout, as ``GRDB/DatabasePool/ofStores(at:timeout:)`` has: GRDB's default fails at once, with "database is
  /// locked", while another process writes. A write that fails is reported to `StoreConfiguration.onStorageError`.
  public init(_ database: some DatabaseWriter, partition: String = "") throws {
    self.database = database
    self.partition = Data(partition.utf8)
    try Row.createTable(in: database)
  }

  /// `true`: SQLite lets one process write at a time.
  public var waitsForOtherProcesses: Bool { true }

  /// The value of a key; `nil` also if it is not JSON of this type.
  public func read(_ key: Key) throws -> StoredValue<Value>? {
    let id = try id(of: key)
    return try database.read { try Row.fetchOne($0, key: id) }.flatMap { row in
      guard let value = try? JSONDecoder().decode(Value.self, from: row.value) else { return nil }
      return StoredValue(
        value, writtenAt: StoreTime(microseconds: row.writtenAt), isInvalidated: row.isInvalidated,
        version: EntryVersion(time: row.versionTime, writer: UInt64(bitPattern: row.versionWriter)))
    }
  }

  /// Inserts or replaces a row.
  public func write(_ stored: StoredValue<Value>, for key: Key) throws {
    let row = Row(
      partition: partition, key: try Self.data(of: key), value: try Self.data(of: stored.value),
      writtenAt: stored.writtenAt.microseconds, isInvalidated: stored.isInvalidated,
      versionTime: stored.version.time, versionWriter: Int64(bitPattern: stored.version.writer))
    try database.write { try row.upsert($0) }
  }

  /// Deletes a row.
  public func remove(_ key: Key) throws {
    let id = try id(of: key)
    _ = try database.write { try Row.deleteOne($0, key: id) }
  }

  /// Deletes all rows of the partition.
  public func removeAll() throws {
    _ = try database.write { try rows.deleteAll($0) }
  }

  /// The keys of the partition.
  public func keys() throws -> [Key] {
    try database.read { try rows.select(Column("key"), as: Data.self).fetchAll($0) }
      .compactMap { try? JSONDecoder().decode(Key.self, from: $0) }
  }

  private var rows: QueryInterfaceRequest<Row> { Row.filter(Column("partition") == partition) }

  private func id(of key: Key) throws -> [String: any DatabaseValueConvertible] {
    ["partition": partition, "key": try Self.data(of: key)]
  }

  /// Encodes with sorted keys, so that equal values have equal bytes.
  private static func data(of value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(value)
  }
}

extension DatabasePool {
  /// Opens a database for stores, and creates it if it does not exist; also while other processes do the same.
  /// - Parameter timeout: How long to wait for another process that writes; 5 seconds by default.
  public static func ofStores(at path: String, timeout: TimeInterval = 5) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(timeout)
    let deadline = Date(timeIntervalSinceNow: timeout)
    while true {
      do {
        return try DatabasePool(path: path, configuration: configuration)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && Date() < deadline {
        // Of those that change a new database to write-ahead logging, SQLite lets all but one fail at once.
        Thread.sleep(forTimeInterval: 0.01)
      }
    }
  }
}
