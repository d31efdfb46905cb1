import Foundation
import GRDB
import GRDBStore
import HTTP
import Repository
import StoreConformance
import Streams
import Testing

@Suite struct GRDBStoreTests {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path

  private func open() throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    return try DatabasePool(path: path, configuration: configuration)
  }

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
    let first = Store(sourceOfTruth: try GRDBStore<String, [Int]>(open())) { _ in .just([1, 2, 3]) }
    _ = try await first.fresh("numbers").value
    let second = Store(sourceOfTruth: try GRDBStore<String, [Int]>(open())) { _ in .error(outage) }
    let snapshot = try await second.get("numbers", .networkFirst).value
    #expect(snapshot.value == [1, 2, 3] && snapshot.source == .disk && snapshot.errors.count == 1)
  }

  @Test func `a value of another type is a miss`() throws {
    let database = try DatabaseQueue()
    try GRDBStore<String, String>(database).write(
      StoredValue("text", writtenAt: StoreTime(microseconds: 1)), for: "k")
    #expect(try GRDBStore<String, Int>(database).read("k") == nil)
  }
}
