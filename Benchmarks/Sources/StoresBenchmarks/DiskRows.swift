import Foundation
import GRDB
import Stores

/// The same byte values in a disk cache, in plain files, and in a table.
final class Disks {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
  private let cache: DiskCache<Int, Data>
  private let database: DatabasePool

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let coder = RecordCoder<Int, Data>(
      encodeKey: { Data("\($0)".utf8) }, decodeKey: { Int(String(decoding: $0, as: UTF8.self)) ?? 0 },
      encode: { $0 }, decode: { $0 })
    cache = try DiskCache(folder: folder.appendingPathComponent("cache"), limit: 4 << 30, coder: coder)
    database = try DatabasePool(path: folder.path + "/database.sqlite")
    // As safe as the cache: a write survives a loss of power. GRDB's default is NORMAL.
    try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    try database.write { try $0.execute(sql: "CREATE TABLE record (key INTEGER PRIMARY KEY, value BLOB NOT NULL)") }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Fills all of them up to this number of entries.
  func fill(_ range: Range<Int>, _ value: Data) throws {
    for key in range {
      try writeCache(value, key)
      try value.write(to: file(key))
    }
    try database.write { database in
      for key in range { try Self.insert(value, key, database) }
    }
  }

  private func file(_ key: Int) -> URL { folder.appendingPathComponent("\(key)") }

  private func writeCache(_ value: Data, _ key: Int) throws {
    try cache.write(StoredValue(value, writtenAt: .now()), for: key)
  }

  private static func insert(_ value: Data, _ key: Int, _ database: Database) throws {
    try database.execute(sql: "INSERT OR REPLACE INTO record VALUES (?, ?)", arguments: [key, value])
  }

  private func fetch(_ key: Int) throws -> Data? {
    try database.read { try Data.fetchOne($0, sql: "SELECT value FROM record WHERE key = ?", arguments: [key]) }
  }

  func hit(_ name: String, entries: Int, operations: Int) -> Row {
    let key = { (index: Int) in index &* 7_919 % entries }
    return Row(
      name: name, count: operations,
      works: [
        { try self.cache.read(key($0))?.value.count ?? 0 }, nil, nil,
        { try Data(contentsOf: self.file(key($0))).count }, { try self.fetch(key($0))?.count ?? 0 },
      ], ceilings: ["GRDB": 1.5])
  }

  func miss(_ name: String, operations: Int) -> Row {
    Row(
      name: name, count: operations,
      works: [
        { try self.cache.read(-1 - $0)?.value.count ?? 0 }, nil, nil,
        { FileManager.default.contents(atPath: self.file(-1 - $0).path)?.count ?? 0 },
        { try self.fetch(-1 - $0)?.count ?? 0 },
      ], ceilings: ["plain file": 0.5])
  }

  func write(_ name: String, _ value: Data, entries: Int, operations: Int) -> Row {
    Row(
      name: name, count: operations,
      works: [
        { index in
          try self.writeCache(value, index % entries)
          return index
        }, nil, nil,
        { index in
          try value.write(to: self.file(index % entries), options: .atomic)
          return index
        },
        { index in
          try self.database.write { try Self.insert(value, index % entries, $0) }
          return index
        },
      ])
  }
}
