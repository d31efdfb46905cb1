import Foundation
import GraphQLClient
import GraphQLClientTesting
import RedisStore
import StoreConformance
import Stores
import Streams
import Synchronization
import Testing

/// The records of normalised stores, in a real Redis, each over connections of its own.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RedisRecordsTests {
  private let server: RedisServerProcess

  init() throws { server = try RedisServerProcess() }

  private static func connected(_ port: Int) -> Redis {
    let redis = Redis(RedisServer(port: port), timeLimit: .seconds(2)) { _ in }
    redis.waitUntilConnected()
    return redis
  }

  private func connected() -> Redis { Self.connected(server.port) }

  @Test(arguments: RecordStorageConformance.cases + RecordStorageConformance.sharingCases)
  func `it conforms`(_ test: RecordStorageConformance.Case) throws {
    try test.check { [port = server.port] in RedisRecords(Self.connected(port), partition: $0) }
  }

  @Test func `a refusal is for all processes; where Redis is away, it is taken for granted`() throws {
    let records = RedisRecords(connected(), partition: "a")
    #expect(!records.isRefused)
    try records.setRefused(true)
    #expect(RedisRecords(connected(), partition: "a").isRefused)
    #expect(!RedisRecords(connected(), partition: "b").isRefused)
    try records.signOut(leaving: RecordEntry(RecordPosition(journal: 1, number: 0), []))
    #expect(!RedisRecords(connected(), partition: "a").isRefused)
    server.stop()
    #expect(records.isRefused)
  }

  @Test func `a refusal is kept also if Redis has no memory left`() throws {
    let records = RedisRecords(connected(), partition: "a")
    try server.command("CONFIG", "SET", "maxmemory", "1")
    try records.setRefused(true)
    #expect(RedisRecords(connected(), partition: "a").isRefused)
    try records.setRefused(false)
    #expect(!RedisRecords(connected(), partition: "a").isRefused)
  }

  @Test func `a refusal is kept as long as the records, and no longer`() throws {
    let redis = connected()
    func lifetimes() throws -> [Int] {
      try ["v", "f"].map { Int(try server.command("PTTL", "store:\($0):records:a")) ?? -1 }
    }
    try RedisRecords(redis, partition: "a", lifetime: .seconds(50)).setRefused(true)
    #expect((1...50_000).contains(try lifetimes()[1]))
    let records = RedisRecords(redis, partition: "a", lifetime: .seconds(1_000))
    let entry = RecordEntry(RecordPosition(journal: 7, number: 0), [1])
    #expect(try records.replaceAll(with: entry, after: nil))
    #expect(try lifetimes().allSatisfy((900_000...1_000_000).contains))
  }

  @Test func `what Redis has lost is not there, also if something else has its place`() throws {
    func entry(_ number: UInt64, _ byte: UInt8) -> RecordEntry {
      RecordEntry(RecordPosition(journal: 7, number: number), [byte])
    }
    let records = (0..<3).map { _ in RedisRecords(connected(), partition: "a") }
    let (known, lost, other) = (entry(0, 1), entry(1, 2), entry(1, 3))
    #expect(try records[0].replaceAll(with: known, after: nil))
    #expect(try records[0].append(lost, after: known.position))
    for index in 1...2 { #expect(try records[index].read(after: nil).entries == [known, lost]) }
    try server.command("RPOP", "store:v:records:a")
    #expect(try records[0].read(after: lost.position) == RecordTail(last: known.position, entries: [known]))
    #expect(try records[0].append(other, after: known.position))
    #expect(try !records[1].append(entry(2, 4), after: lost.position))
    #expect(try !records[1].replaceAll(with: entry(2, 4), after: lost.position))
    for index in 1...2 { #expect(try records[index].read(after: lost.position).entries == [known, other]) }
    #expect(try records[2].read(after: other.position).entries == [])
  }

  private struct GetSong: GraphQLSession {
    struct ResponseData: Codable, Sendable {
      struct Song: Codable, Sendable { var title: String }
      var song: Song
    }
    static let query: GraphQLDocument = "query getSong { song { title } }"
  }

  private static func song(_ title: String) -> ScriptedResponse {
    .json(#"{"data": {"song": {"__typename": "Song", "id": "1", "title": "\#(title)"}}}"#)
  }

  /// A store of one process, whose server gives one song with this title.
  private func store(
    _ title: String, onError: @escaping @Sendable (any Error) -> Void = { _ in }
  ) throws -> (store: NormalizedStore, server: ScriptedTransport) {
    let server = ScriptedTransport()
    server.always(.any, Self.song(title))
    let client = try APIClient(baseURL: #require(URL(string: "https://songs.test/graphql")), transport: server)
    let schema = try RecordSchema("type Query { song: Song } type Song { id: ID! title: String }")
    var configuration = NormalizedConfiguration()
    configuration.onStorageError = onError
    let records = RedisRecords(connected(), partition: "account")
    return (NormalizedStore(client, schema: schema, storage: records, configuration: configuration), server)
  }

  /// Waits until a store shows a title.
  private func wait(for title: String, in store: NormalizedStore) async throws {
    _ = try await store.stream(GetSong(), .cacheOnly).filter { $0.value?.song.title == title }.value
  }

  @Test func `what one process requests shows in another's watcher, and in the next process`() async throws {
    let (first, second) = (try store("a").store, try store("b").store)
    await first.load()
    #expect(try await first.get(GetSong()).value.value?.song.title == "a")
    try await wait(for: "a", in: second)
    _ = try await second.get(GetSong(), .networkOnly).value
    try await wait(for: "b", in: first)
    #expect(try store("c").store.peek(GetSong())?.value?.song.title == "b")
  }

  @Test func `an entity that one process invalidates is requested again by every watcher`() async throws {
    let (first, second) = (try store("a"), try store("b"))
    _ = try await first.store.get(GetSong()).value
    try await wait(for: "a", in: second.store)
    let watcher = second.store.stream(GetSong()).subscribe()
    defer { watcher.dispose() }
    first.store.invalidate(EntityID("Song", id: "1"))
    // The second process asks its server.
    try await wait(for: "b", in: first.store)
    #expect(second.server.requests.count == 1)
  }

  @Test func `what is written while Redis is away is there when it is back, also in other processes`() async throws {
    let failures = Mutex(0)
    let (first, second) = (try store("a") { _ in failures.withLock { $0 += 1 } }.store, try store("b").store)
    _ = try await first.get(GetSong()).value
    try await wait(for: "a", in: second)
    server.stop()
    try first.update(GetSong()) { $0.song.title = "c" }
    #expect(failures.withLock { $0 } > 0)
    #expect(first.peek(GetSong())?.value?.song.title == "c")
    let restarted = try RedisServerProcess(port: server.port)
    defer { restarted.stop() }
    // It is another Redis, without data: what was shown before is for no process any more.
    _ = try await second.stream(GetSong(), .cacheOnly).filter { $0.value == nil }.value
    while (try? await first.flush()) == nil { try await Task.sleep(for: .milliseconds(20)) }
    _ = try await first.get(GetSong(), .networkOnly).value
    try await wait(for: "a", in: second)
  }
}
