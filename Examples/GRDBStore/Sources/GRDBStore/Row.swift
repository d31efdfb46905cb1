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

  /// Creates the table.
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("storedValue") { database in
      try database.create(table: databaseTableName) { table in
        table.column("partition", .blob).notNull()
        table.column("key", .blob).notNull()
        table.column("value", .blob).notNull()
        table.column("writtenAt", .integer).notNull()
        table.column("isInvalidated", .boolean).notNull()
        table.primaryKey(["partition", "key"])
      }
    }
    return migrator
  }
}
