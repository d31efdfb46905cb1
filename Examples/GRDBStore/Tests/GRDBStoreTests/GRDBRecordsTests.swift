import Foundation
import GRDB
import GRDBStore
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import StoreConformance
import Stores
import Streams
import Testing

@Suite struct GRDBRecordsTests {
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path

  private func open() throws -> DatabasePool { try .ofStores(at: path, timeout: 10) }

  private func remove() {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
  }

  @Test(arguments: RecordStorageConformance.cases + RecordStorageConformance.sharingCases)
  func `it conforms, each partition on a connection of its own`(_ test: RecordStorageConformance.Case) throws {
    defer { remove() }
    try test.check { try GRDBRecords(open(), partition: $0, pollInterval: .milliseconds(10)) }
  }

  @Test func `a refusal is kept until it is taken back, or the account is signed out`() throws {
    defer { remove() }
    let records = try GRDBRecords(open(), partition: "a")
    #expect(!records.isRefused)
    try records.setRefused(true)
    try records.setRefused(true)
    #expect(try GRDBRecords(open(), partition: "a").isRefused)
    #expect(try !GRDBRecords(open(), partition: "b").isRefused)
    try records.signOut(leaving: RecordEntry(RecordPosition(journal: 1, number: 0), []))
    #expect(!records.isRefused)
  }

  @Test func `what a backup lacks is not there, also if something else has its place`() throws {
    defer { remove() }
    let (database, journal) = (try open(), UInt64(7))
    func entry(_ number: UInt64, _ byte: UInt8) -> RecordEntry {
      RecordEntry(RecordPosition(journal: journal, number: number), [byte])
    }
    let (first, second, third) = (try GRDBRecords(database), try GRDBRecords(open()), try GRDBRecords(open()))
    let (known, lost, other) = (entry(0, 1), entry(1, 2), entry(1, 3))
    #expect(try first.replaceAll(with: known, after: nil))
    #expect(try first.append(lost, after: known.position))
    for records in [second, third] { #expect(try records.read(after: nil).entries == [known, lost]) }
    try database.write { try $0.execute(sql: "DELETE FROM recordEntry WHERE number = 1") }
    #expect(try first.read(after: lost.position) == RecordTail(last: known.position, entries: [known]))
    #expect(try first.append(other, after: known.position))
    #expect(try !second.append(entry(2, 4), after: lost.position))
    #expect(try !second.replaceAll(with: entry(2, 4), after: lost.position))
    #expect(try second.read(after: lost.position).entries == [known, other])
    #expect(try third.read(after: lost.position).entries == [known, other])
    #expect(try third.read(after: other.position).entries == [])
  }

  @Test func `the greatest number ends nothing`() throws {
    defer { remove() }
    let records = try GRDBRecords(open())
    let last = RecordPosition(journal: 1, number: UInt64(Int64.max))
    #expect(try records.replaceAll(with: RecordEntry(last, [1]), after: nil))
    #expect(try records.read(after: last).entries == [])
  }

  /// A store of one process, whose server gives one song with this title.
  private func store(_ title: String) throws -> NormalizedStore {
    let server = ScriptedTransport()
    server.always(.any, .json(#"{"data": {"song": {"__typename": "Song", "id": "1", "title": "\#(title)"}}}"#))
    let client = try APIClient(baseURL: #require(URL(string: "https://songs.test/graphql")), transport: server)
    let schema = try RecordSchema("type Query { song: Song } type Song { id: ID! title: String }")
    return NormalizedStore(
      client, schema: schema, storage: try GRDBRecords(open(), pollInterval: .milliseconds(10)))
  }

  private struct GetSong: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      struct Song: Decodable, Sendable { let title: String }
      let song: Song
    }
    static let query: GraphQLDocument = "query getSong { song { title } }"
  }

  @Test func `what one process requests shows in another's watcher, and in the next process`() async throws {
    defer { remove() }
    let (first, second) = (try store("a"), try store("b"))
    #expect(try await first.get(GetSong()).value.value?.song.title == "a")
    // It needs no request of its own.
    #expect(try await second.get(GetSong()).value.value?.song.title == "a")
    _ = try await second.get(GetSong(), .networkOnly).value
    let shown = first.stream(GetSong(), .cacheOnly).filter { $0.value?.song.title == "b" }
    _ = try await shown.value
    #expect(try store("c").peek(GetSong())?.value?.song.title == "b")
  }
}
