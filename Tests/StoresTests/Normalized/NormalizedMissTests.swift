import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// What is missing, and what was invalidated: when it is requested again, and when it is no longer out of date.
@Suite struct NormalizedMissTests {
  @Test func `a value is up to date again when an optimistic miss is rolled back`() throws {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[0].data(issues(("1", "a")))
    withExtendedLifetime(get) {}
    let list = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("2", "x"), optimisticResponse: ["rename": ["id": "1", "title": "a"]]) { _, edits in
        try edits.write(ids("1", "2"), of: OnlyIDs())
      })
    #expect(list.take().last?.isStale == true)
    world.server[1].fail()
    #expect(list.take().last?.isStale == false)
    withExtendedLifetime(mutation) {}
  }

  @Test func `a value is up to date again when others bring what was missing`() throws {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[0].data(issues(("1", "a")))
    withExtendedLifetime(get) {}
    let list = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    try world.store.receive(ids("1", "2"), of: OnlyIDs())
    #expect(list.take().last?.isStale == true)
    try world.store.receive(["rename": ["id": "2", "title": "b"]], of: RenameIssue("2", "b"))
    #expect(list.take().last?.brief == "1:a,2:b memory")
  }

  @Test func `what is missing again within the pause is requested after it`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssuesWithIDs()))
    world.server[0].data(issues(("1", "a")))
    try world.store.receive(ids("1", "2"), of: OnlyIDs())
    try #require(world.server.count == 2)
    world.server[1].data(issues(("1", "a"), ("2", "b")))
    world.time.advance(by: .seconds(5))
    try world.store.receive(ids("1", "2", "3"), of: OnlyIDs())
    try #require(world.server.count == 2)
    world.time.advance(by: .seconds(5))
    try #require(world.server.count == 3)
    world.server[2].data(issues(("1", "a"), ("2", "b"), ("3", "c")))
    #expect(list.take().last?.brief == "1:a,2:b,3:c network")
  }

  @Test func `two operations that take something from each other are requested after ever longer pauses`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssuesWithIDs()))
    world.server[0].data(issues(("1", "a")))
    for id in 2..<50 {
      try world.store.receive(ids("1", "\(id)"), of: OnlyIDs())
      world.time.advance(by: .seconds(10))
      if world.server.count > 1, world.server.last.isCancelled.value == false {
        world.server.last.data(issues(("1", "a")))
      }
    }
    // In 480 seconds: at once, and after 10, 20, 40, and then 60 seconds each.
    #expect(world.server.count > 5)
    #expect(world.server.count < 15)
    withExtendedLifetime(list) {}
  }

  @Test func `an entity that is invalidated twice is requested twice`() throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(issue("1", "a"))
    world.store.invalidate(EntityID("Issue", id: "1"))
    try #require(world.server.count == 2)
    world.server[1].data(issue("1", "b"))
    world.time.advance(by: .seconds(3))
    world.store.invalidate(EntityID("Issue", id: "1"))
    try #require(world.server.count == 3)
    withExtendedLifetime(one) {}
  }

  @Test func `a watcher that makes no request begins no pause`() throws {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server[0].data(issues(("1", "a")))
    withExtendedLifetime(get) {}
    let passive = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    try world.store.receive(ids("1", "2"), of: OnlyIDs())
    try #require(world.server.count == 1)
    let active = Recorder(world.store.stream(GetIssuesWithIDs()))
    try #require(world.server.count == 2)
    world.server[1].data(issues(("1", "a"), ("2", "b")))
    world.time.advance(by: .seconds(1))
    try world.store.receive(ids("1", "3"), of: OnlyIDs())
    try #require(world.server.count == 3)
    withExtendedLifetime((passive, active)) {}
  }

  @Test func `what was invalidated while it was requested stays out of date, also when it is read again`() throws {
    let world = try NormalizedWorld()
    let get = Recorder(world.store.get(OnlyState(), .networkOnly))
    world.server[0].data(#"{"issue": {"__typename": "Issue", "id": "1", "state": "OPEN"}}"#)
    withExtendedLifetime(get) {}
    let one = Recorder(world.store.get(GetIssue("1")))
    try world.store.invalidate(GetIssue("1"))
    world.server[1].data(issue("1", "a"))
    #expect(world.store.peek(GetIssue("1"))?.isStale == true)
    // Nobody watches it, so it is dropped, and read from the records.
    try world.store.receive(["issue": ["id": "1", "state": "CLOSED"]], of: OnlyState())
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 a CLOSED memory ~")
    withExtendedLifetime(one) {}
  }

  @Test func `a partial value is out of date when others change what it has`() throws {
    let world = try NormalizedWorld()
    let lenient = GetIssue("1", errorPolicy: .all)
    let one = Recorder(world.store.stream(lenient))
    world.server[0].answer(
      """
      {"data": {"issue": {"__typename": "Issue", "id": "1", "title": null, "state": "OPEN"}},
       "errors": [{"message": "No.", "path": ["issue", "title"]}]}
      """)
    #expect(one.take().last?.brief == "1 - OPEN network !")
    try world.store.receive(["issue": ["id": "1", "state": "CLOSED"]], of: OnlyState())
    #expect(one.take().last?.isStale == true)
    try #require(world.server.count == 2)
  }

  @Test func `a value with a fragment on an unknown type is out of date when others change what it has`() throws {
    struct Node: GraphQLSession {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Node: Codable, Hashable, Sendable {
          var id: String
          var title: String?
        }
        var node: Node?
      }
      static let query: GraphQLDocument = "query node { node(id: \"1\") { id ... on Titled { title } } }"
    }
    let world = try NormalizedWorld()
    let node = Recorder(world.store.stream(Node()))
    world.server[0].data(#"{"node": {"__typename": "Issue", "id": "1", "title": "a"}}"#)
    #expect(node.take().last?.value?.node?.title == "a")
    try world.store.receive(["rename": ["id": "1", "title": "b"]], of: RenameIssue("1", "x"))
    #expect(node.take().last?.isStale == true)
    try #require(world.server.count == 2)
  }
}
