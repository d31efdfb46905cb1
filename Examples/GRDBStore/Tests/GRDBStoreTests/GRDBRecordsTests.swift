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
    try records.signOut()
    #expect(!records.isRefused)
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
