import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// Direct edits, pushes, invalidation, and fragments.
@Suite struct NormalizedEditingTests {
  private struct Card: Codable, Hashable, Sendable, CustomStringConvertible {
    var title: String?
    var state: String?
    var description: String { "\(title ?? "-") \(state ?? "-")" }
  }
  private let card: GraphQLDocument = "fragment card on Issue { title state }"
  private let one = EntityID("Issue", id: "1")

  private func world() throws -> (NormalizedWorld, Recorder<Snapshot<GetIssues.ResponseData>>) {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    let detail = Recorder(world.store.get(GetIssue("1")))
    world.server.last.data(issue("1", "a"))
    _ = (list.take(), detail)
    return (world, list)
  }

  @Test func `N1: an operation is edited as its type, and all who share the entity see it`() throws {
    let (world, list) = try world()
    #expect(try world.store.update(GetIssue("1")) { $0.issue?.title = "A" })
    #expect(list.brief() == ["A,b memory"])
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 A OPEN")
  }

  @Test func `an optional that becomes nil is null, and what the type leaves out stays`() throws {
    let (world, list) = try world()
    try world.store.update(GetIssues()) { $0.issues[0].title = nil }
    #expect(list.brief() == ["-,b memory"])
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 - OPEN")
  }

  @Test func `elements of a list without keys in the type are removed by value`() throws {
    let (world, list) = try world()
    try world.store.update(GetIssues()) { $0.issues.removeFirst() }
    #expect(list.brief() == ["b memory"])
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 a OPEN")
  }

  @Test func `an element without a key in the type is changed at its place, also if others come and go`() throws {
    let (world, list) = try world()
    try world.store.update(GetIssues()) { data in
      data.issues.removeLast()
      data.issues[0].title = "A"
    }
    #expect(list.brief() == ["A memory"])
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 A OPEN")
  }

  @Test func `a new element needs its key`() throws {
    let (world, list) = try world()
    #expect(throws: RequestError.self) {
      try world.store.update(GetIssues()) { $0.issues.append(.init(title: "c")) }
    }
    #expect(list.take().isEmpty)
    #expect(world.store.peek(GetIssues())?.value?.description == "a,b")
  }

  @Test func `elements with keys may be moved and changed at once`() throws {
    let (world, list) = try world()
    let withIDs = Recorder(world.store.get(GetIssuesWithIDs()))
    withExtendedLifetime(withIDs) {}
    try world.store.update(GetIssuesWithIDs()) { data in
      data.issues.reverse()
      data.issues[1].title = "A"
    }
    #expect(list.brief() == ["b,A memory"])
  }

  @Test func `what is not cached is not edited`() throws {
    let (world, _) = try world()
    #expect(try world.store.update(GetIssue("9")) { $0.issue = nil } == false)
  }

  @Test func `several edits show in one step`() throws {
    let (world, list) = try world()
    try world.store.update { edits in
      try edits.update(GetIssue("1")) { $0.issue?.title = "A" }
      try edits.update(GetIssues()) { $0.issues[1].title = "B" }
    }
    #expect(list.brief() == ["A,B memory"])
  }

  @Test func `an edit stays when a response comes that was asked for before`() throws {
    let (world, list) = try world()
    let query = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    try world.store.update(GetIssue("1")) { $0.issue?.title = "A" }
    world.server.last.data(issue("1", "a", "CLOSED"))
    #expect(query.brief() == ["1 A CLOSED network"])
    #expect(list.brief() == ["A,b memory"])
  }

  @Test func `a fragment is read, watched and edited for one entity`() throws {
    let (world, list) = try world()
    #expect(world.store.peek(Card.self, card, of: one)?.value?.description == "a OPEN")
    #expect(world.store.peek(Card.self, card, of: EntityID("Issue", id: "2")) == nil)
    let values = Recorder(world.store.values(Card.self, card, of: one))
    #expect(try world.store.update(Card.self, card, of: one) { $0.title = "A" })
    #expect(values.take().map(\.description) == ["a OPEN", "A OPEN"])
    #expect(list.brief() == ["A,b memory"])
  }

  @Test func `a fragment of an entity that comes later is watched before`() throws {
    let (world, _) = try world()
    let values = Recorder(world.store.values(Card.self, card, of: EntityID("Issue", id: "3")))
    #expect(values.take().isEmpty)
    let detail = Recorder(world.store.get(GetIssue("3")))
    world.server.last.data(issue("3", "c"))
    withExtendedLifetime(detail) {}
    #expect(values.take().map(\.description) == ["c OPEN"])
  }

  @Test func `what arrives live is written in, and no equal value is shown twice`() throws {
    let (world, list) = try world()
    let values = Recorder(world.store.values(GetIssues()))
    for _ in 1...2 {
      try world.store.receive(["issue": ["id": "1", "title": "A", "state": "OPEN"]], of: GetIssue("1"))
    }
    #expect(list.brief() == ["A,b memory"])
    #expect(values.take().map(\.description) == ["a,b", "A,b"])
  }

  @Test func `an operation that is invalidated is requested again by those who watch it`() throws {
    let (world, list) = try world()
    try world.store.invalidate(GetIssues())
    #expect(list.brief() == ["a,b memory ~ …"])
    world.server.last.data(issues(("1", "A"), ("2", "b")))
    #expect(list.brief() == ["A,b network"])
  }

  @Test func `an invalidated operation that nobody watches is stale when it is read again`() throws {
    let (world, list) = try world()
    try world.store.invalidate(GetIssue("1"))
    // It leaves the memory of values, and comes back from the records.
    try world.store.update(GetIssues()) { $0.issues[0].title = "A" }
    #expect(world.store.peek(GetIssue("1"))?.brief == "1 A OPEN memory ~")
    withExtendedLifetime(list) {}
  }

  @Test func `an entity that is invalidated leaves the last value, stale, and is requested again`() throws {
    let (world, list) = try world()
    world.store.invalidate(one)
    #expect(list.brief() == ["a,b memory ~ …"])
    #expect(world.store.peek(GetIssue("1")) == nil)
    world.server.last.data(issues(("1", "A"), ("2", "b")))
    #expect(list.brief() == ["A,b network"])
  }

  @Test func `N1: a field that is invalidated concerns those alone who have read it`() throws {
    let (world, list) = try world()
    world.store.invalidate(one, field: "state")
    #expect(list.take().isEmpty)
    #expect(world.store.missingPath(of: GetIssue("1")) == "issue.state")
  }

  @Test func `an edit whose closure changes what it is given by another call ends`() throws {
    struct Endless: Error {}
    let world = try NormalizedWorld()
    try world.store.receive(["issues": [["id": "1", "title": "a"]]], of: GetIssuesWithIDs())
    var calls = 0
    try world.store.update(GetIssuesWithIDs()) { list in
      calls += 1
      if calls > 1_000 { throw Endless() }
      try world.store.receive(["issues": [["id": "1", "title": .string("\(calls)")]]], of: GetIssuesWithIDs())
      list.issues.append(.init(id: "2", title: "b"))
    }
    #expect(world.store.peek(GetIssuesWithIDs())?.value?.issues.map(\.id) == ["1", "2"])
  }
}
