import Foundation
import GRDB

/// One row of the table.
struct Row: Codable, FetchableRecord, PersistableRecord, Sendable {
  static let databaseTableName = "storedValue"

  var partition: Data
  var key: Data
  var value: Data
  /// In microseconds since 1970.
  var writtenAt: Int64
  var isInvalidated: Bool
  var versionTime: Int64
  /// The bits of an unsigned number, which SQLite does not have.
  var versionWriter: Int64

  /// Creates the table, and what later versions of it have; in one step, since another process may be doing the same.
  static func createTable(in database: any DatabaseWriter) throws {
    try database.barrierWriteWithoutTransaction { database in
      try database.inTransaction(.immediate) {
        try database.create(table: databaseTableName, ifNotExists: true) { table in
          table.column("partition", .blob).notNull()
          table.column("key", .blob).notNull()
          table.column("value", .blob).notNull()
          table.column("writtenAt", .integer).notNull()
          table.column("isInvalidated", .boolean).notNull()
          table.column("versionTime", .integer).notNull().defaults(to: 0)
          table.column("versionWriter", .integer).notNull().defaults(to: 0)
          table.primaryKey(["partition", "key"])
        }
        let columns = try database.columns(in: databaseTableName).map(\.name)
        for column in ["versionTime", "versionWriter"] where !columns.contains(column) {
          try database.alter(table: databaseTableName) { table in
            table.add(column: column, .integer).notNull().defaults(to: 0)
          }
        }
        return .commit
      }
    }
  }
}
