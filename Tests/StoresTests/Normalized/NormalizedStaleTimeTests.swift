import Foundation
import GraphQLClient
import GraphQLClientTesting
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// Times after which values become stale, by type and field.
@Suite struct NormalizedStaleTimeTests {
  private let folder = TemporaryFolder()

  private func isStale(_ session: some GraphQLSession, in world: NormalizedWorld) -> Bool? {
    world.store.peek(session)?.isStale
  }

  @Test func `N14: a value is stale as soon as the first field that it was read of is`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.state": .seconds(10), "Issue": .seconds(60)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    try await world.request(GetIssues(), issues(("1", "a")))
    world.time.advance(by: .seconds(9))
    #expect(isStale(GetIssue("1"), in: world) == false)
    world.time.advance(by: .seconds(1))
    #expect(isStale(GetIssue("1"), in: world) == true)
    #expect(isStale(GetIssues(), in: world) == false)
    world.time.advance(by: .seconds(50))
    #expect(isStale(GetIssues(), in: world) == true)
  }

  @Test func `what is stale by a field is requested by a policy that reads the cache, and then no more`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.state": .seconds(10)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.time.advance(by: .seconds(10))
    let get = Recorder(world.store.get(GetIssue("1")))
    #expect(world.server.count == 2)
    world.server.last.data(issue("1", "a"))
    #expect(get.brief() == ["1 a OPEN network"])
    #expect(Recorder(world.store.get(GetIssue("1"))).brief() == ["1 a OPEN memory"])
    #expect(world.server.count == 2)
  }

  @Test func `what another operation brings makes a value younger, also if it says the same`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.title": .seconds(10)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    let stream = Recorder(world.store.stream(GetIssue("1"), .cacheOnly))
    #expect(stream.take().map(\.isStale) == [false])
    world.time.advance(by: .seconds(8))
    try await world.request(GetIssues(), issues(("1", "a")))
    world.time.advance(by: .seconds(8))
    #expect(isStale(GetIssue("1"), in: world) == false)
    #expect(stream.take().isEmpty)
    world.time.advance(by: .seconds(2))
    #expect(isStale(GetIssue("1"), in: world) == true)
  }

  @Test func `a response that a later one hides makes what it has no younger`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.title": .seconds(10)] }
    let older = Recorder(world.store.get(GetIssues(), .networkOnly))
    try await world.request(GetIssue("1"), issue("1", "b"))
    world.time.advance(by: .seconds(8))
    world.server[0].data(issues(("1", "a")))
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 b OPEN")
    world.time.advance(by: .seconds(2))
    #expect(isStale(GetIssue("1"), in: world) == true)
    withExtendedLifetime(older) {}
  }

  @Test func `the response to a mutation makes what it has younger, and an edit does not`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.title": .seconds(10)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.time.advance(by: .seconds(8))
    try world.store.update { edits in
      try edits.update(GetIssue("1")) { $0.issue?.title = "b" }
    }
    world.time.advance(by: .seconds(2))
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 b OPEN")
    #expect(isStale(GetIssue("1"), in: world) == true)
    let rename = Recorder(world.store.mutate(RenameIssue("1", "c")))
    world.server.last.data(renamed("1", "c"))
    try await rename.waitForCompletion()
    #expect(isStale(GetIssue("1"), in: world) == false)
  }

  @Test func `what is pushed makes what it has younger`() async throws {
    struct Closed: GraphQLSubscription {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Issue: Codable, Hashable, Sendable { var state: String? }
        var closed: Issue?
      }
      static let query: GraphQLDocument = "subscription closed { closed { state } }"
    }
    let transport = ScriptedTransport()
    transport.alwaysLive(
      .any, [.json(#"{"data": {"closed": {"__typename": "Issue", "id": "1", "state": "OPEN"}}}"#), .completed])
    transport.always(.any, .json("{\"data\": \(issue("1", "a"))}"))
    var client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    client.graphQL.live = transport
    let time = TestScheduler()
    var configuration = NormalizedConfiguration()
    configuration.clock = .scheduler(time)
    configuration.staleTimes = ["Issue.state": .seconds(10)]
    let store = NormalizedStore(client, schema: try RecordSchema(NormalizedWorld.schema), configuration: configuration)
    _ = try await store.fresh(GetIssue("1")).value
    time.advance(by: .seconds(8))
    let events = Recorder(store.follow(Closed()))
    try await events.waitForCompletion()
    time.advance(by: .seconds(8))
    #expect(store.peek(GetIssue("1"))?.isStale == false)
    time.advance(by: .seconds(2))
    #expect(store.peek(GetIssue("1"))?.isStale == true)
  }

  @Test func `a response that has come by another way makes what it has younger`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.title": .seconds(10)] }
    world.time.advance(by: .seconds(60))
    try world.store.receive(JSONValue(json: Data(issue("1", "a").utf8).bytes), of: GetIssue("1"))
    #expect(isStale(GetIssue("1"), in: world) == false)
    world.time.advance(by: .seconds(10))
    #expect(isStale(GetIssue("1"), in: world) == true)
  }

  @Test func `a field with an error keeps its date`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.title": .seconds(10)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.time.advance(by: .seconds(8))
    let get = Recorder(world.store.get(GetIssue("1", errorPolicy: .all), .networkOnly))
    world.server.last.answer(
      #"{"data": {"issue": {"__typename": "Issue", "id": "1", "title": null, "state": "OPEN"}}, "#
        + #""errors": [{"message": "no", "path": ["issue", "title"]}]}"#)
    try await get.waitForCompletion()
    world.time.advance(by: .seconds(2))
    #expect(isStale(GetIssue("1"), in: world) == true)
  }

  @Test func `a field of the query has a time of its own, whatever its arguments are`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Query.issues": .seconds(10)] }
    try await world.request(GetIssues(), issues(("1", "a")))
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.time.advance(by: .seconds(10))
    #expect(isStale(GetIssues(), in: world) == true)
    #expect(isStale(GetIssue("1"), in: world) == false)
  }

  @Test func `an object's key does not become stale with its type`() async throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue": .seconds(10)] }
    try await world.request(OnlyIDs(), #"{"issues": [{"__typename": "Issue", "id": "1"}]}"#)
    world.time.advance(by: .seconds(60))
    #expect(isStale(OnlyIDs(), in: world) == false)
  }

  @Test func `dates survive a restart, also those that a response has only moved`() async throws {
    let world = try NormalizedWorld(in: folder.url) { $0.staleTimes = ["Issue.title": .seconds(10)] }
    try await world.request(GetIssue("1"), issue("1", "a"))
    world.time.advance(by: .seconds(8))
    try await world.request(GetIssue("1"), issue("1", "a"))
    for (later, isStale) in [(Duration.seconds(17), false), (.seconds(18), true)] {
      let copy = try folder.copy()
      let next = try NormalizedWorld(in: copy.url, later: later) { $0.staleTimes = ["Issue.title": .seconds(10)] }
      #expect(self.isStale(GetIssue("1"), in: next) == isStale, "after \(later)")
    }
  }

  @Test func `fields that were written without a date are as old as the file`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    world.time.advance(by: .seconds(5))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let copy = try folder.copy()
    let next = try NormalizedWorld(in: copy.url, later: .seconds(10)) { $0.staleTimes = ["Issue.title": .seconds(10)] }
    #expect(isStale(GetIssue("1"), in: next) == true)
  }

  @Test func `a date in the future, as after the clock was set back, makes a value stale`() {
    var dates = RecordDates(["Issue": .seconds(10)])
    dates[1, 1] = StoreTime(microseconds: 50)
    let staleDate = StaleDate()
    dates.tell(staleDate, of: [DatedField(entity: 1, field: 1, staleTime: .seconds(10))])
    #expect(staleDate.isPast(StoreTime(microseconds: 49)))
    #expect(!staleDate.isPast(StoreTime(microseconds: 50)))
    #expect(!staleDate.isPast(StoreTime(microseconds: 10_000_049)))
    #expect(staleDate.isPast(StoreTime(microseconds: 10_000_050)))
  }

  @Test func `an entity whose number was another's does not have that one's dates`() throws {
    var cache = RecordCache(RecordSchema(), RecordDates(["Issue": .seconds(10)]))
    let old = cache.insert("Issue", key: ["1"])
    let named = cache.field("title")
    let title = try #require(named)
    cache.date([RecordChange(entity: old.number, field: title, place: 0)], StoreTime(microseconds: 5))
    cache.free(old.number)
    let new = cache.insert("Issue", key: ["2"])
    #expect(new == old)
    #expect(cache.dates[new.number, title] == nil)
  }
}
