import Foundation
import GRDB
import GRDBStore
import HTTPClientCore
import StoreConformance
import Stores
import Streams
import Synchronization
import Testing

@Suite struct GRDBStoreTests {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path

  private func open() throws -> DatabasePool { try .ofStores(at: path, timeout: 10) }

  private func remove() {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
  }

  @Test(arguments: StoreConformance.cases)
  func `it conforms, each partition on a connection of its own`(_ test: StoreConformance.Case) throws {
    defer { remove() }
    try test.check { try GRDBStore<String, String>(open(), partition: $0) }
  }

  @Test(arguments: StoreConformance.cases)
  func `it conforms, all partitions on one connection`(_ test: StoreConformance.Case) throws {
    let database = try DatabaseQueue()
    try test.check { try GRDBStore<String, String>(database, partition: $0) }
  }

  @Test func `a store gives what another one has kept, where the network fails`() async throws {
    defer { remove() }
    let outage = RequestError(.cannotConnect, "Nobody listens.")
    let first = Store(.ofStream { _ in .just([1, 2, 3]) }, storage: .source(try GRDBStore<String, [Int]>(open())))
    _ = try await first.fresh("numbers").value
    let second = Store(.ofStream { _ in .error(outage) }, storage: .source(try GRDBStore<String, [Int]>(open())))
    let snapshot = try await second.get("numbers", .networkFirst).value
    #expect(snapshot.value == [1, 2, 3])
    #expect(snapshot.source == .disk)
    #expect(snapshot.errors.count == 1)
  }

  @Test func `many that open a new database at once can all use it`() async throws {
    for _ in 0..<20 {
      defer { remove() }
      try await withThrowingTaskGroup { group in
        for number in 0..<4 {
          group.addTask {
            let store = try GRDBStore<Int, Int>(open())
            try store.write(StoredValue(number, writtenAt: StoreTime(microseconds: 1)), for: number)
          }
        }
        try await group.waitForAll()
      }
      #expect(try Set(GRDBStore<Int, Int>(open()).keys()) == [0, 1, 2, 3])
    }
  }

  @Test func `a write that meets a lock is reported`() async throws {
    defer { remove() }
    let database = try DatabasePool.ofStores(at: path, timeout: 0.05)
    let errors = Mutex(0)
    var configuration = StoreConfiguration<Int>()
    configuration.onStorageError = { _ in errors.withLock { $0 += 1 } }
    let store = Store(
      .ofStream { _ in .never() }, storage: .source(try GRDBStore<String, Int>(database)), configuration: configuration)
    try await open().writeWithoutTransaction { other in
      try other.execute(sql: "BEGIN IMMEDIATE")
      store.save(1, for: "k")
      #expect(errors.withLock { $0 } > 0)
      #expect(store.peek("k")?.value == 1)
      try other.execute(sql: "ROLLBACK")
    }
    await store.save(2, for: "k")
    #expect(try GRDBStore<String, Int>(open()).read("k")?.value == 2)
  }

  @Test func `a table from before there were versions gets them`() throws {
    let database = try DatabaseQueue()
    try database.write { database in
      try database.execute(
        sql: """
          CREATE TABLE storedValue (
            partition BLOB NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, writtenAt INTEGER NOT NULL,
            isInvalidated BOOLEAN NOT NULL, PRIMARY KEY (partition, key));
          INSERT INTO storedValue VALUES (x'', CAST('"k"' AS BLOB), CAST('5' AS BLOB), 7, 0);
          """)
    }
    let stored = try GRDBStore<String, Int>(database).read("k")
    #expect(stored?.value == 5)
    #expect(stored?.version == .zero)
  }

  @Test func `a value of another type is a miss`() throws {
    let database = try DatabaseQueue()
    try GRDBStore<String, String>(database).write(
      StoredValue("text", writtenAt: StoreTime(microseconds: 1)), for: "k")
    #expect(try GRDBStore<String, Int>(database).read("k") == nil)
  }
}
