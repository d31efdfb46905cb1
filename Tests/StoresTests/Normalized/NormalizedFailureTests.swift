import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import Testing

@testable import Stores

/// What goes wrong: partial responses, misses, refusals, and the end of an account.
@Suite struct NormalizedFailureTests {
  private let partial = """
    {"data": {"issue": {"__typename": "Issue", "id": "1", "title": null, "state": "CLOSED"}},
     "errors": [{"message": "No title.", "path": ["issue", "title"]}]}
    """

  @Test func `N2: a null with an error replaces no value, and what came beside it shows`() throws {
    let world = try NormalizedWorld()
    let lenient = GetIssue("1", errorPolicy: .all)
    let detail = Recorder(world.store.stream(lenient))
    world.server.last.data(issue("1", "a"))
    _ = detail.take()
    let again = Recorder(world.store.get(lenient, .networkOnly))
    world.server.last.answer(partial)
    #expect(again.brief() == ["1 a CLOSED network !"])
    #expect(detail.take().last?.value?.description == "1 a CLOSED")
  }

  @Test func `N2: a partial response where nothing was is given with its errors, and is not complete`() throws {
    let world = try NormalizedWorld()
    let lenient = GetIssue("1", errorPolicy: .all)
    let detail = Recorder(world.store.get(lenient))
    world.server.last.answer(partial)
    let snapshot = try #require(detail.take().first)
    #expect(snapshot.brief == "1 - CLOSED network !")
    #expect(snapshot.isPartial)
    #expect(world.store.missingPath(of: lenient) == "issue.title")
    #expect(world.store.missingPath(of: GetIssuesWithIDs()) == "issues")
  }

  @Test func `by the policy none, a response with errors fails, and changes nothing`() throws {
    let world = try NormalizedWorld()
    let detail = Recorder(world.store.get(GetIssue("1")))
    world.server.last.answer(partial)
    #expect((detail.error.value as? RequestError)?.kind == .graphQL)
    #expect(world.store.missingPath(of: GetIssue("1")) == "issue")
  }

  @Test func `N12: two operations whose responses take something from each other are not requested for ever`() throws {
    let world = try NormalizedWorld()
    struct Labels: GraphQLSession {
      struct ResponseData: Codable, Sendable {
        struct Label: Codable, Sendable { var text: String? }
        struct Issue: Codable, Sendable { var labels: [Label]? }
        var issue: Issue?
      }
      static let query: GraphQLDocument = "query labels { issue(id: 1) { author { name } } }"
    }
    struct Author: GraphQLSession {
      struct ResponseData: Codable, Sendable {}
      static let query: GraphQLDocument = "query author { issue(id: 1) { author { email } } }"
    }
    let first = Recorder(world.store.stream(Labels()))
    world.server.last.data(
      #"{"issue": {"__typename": "Issue", "id": 1, "author": {"__typename": "User", "id": 1, "name": "n"}}}"#)
    let second = Recorder(world.store.stream(Author()))
    // Each response has another author, of whom the other operation knows nothing.
    for number in 2..<20 where world.server.count >= number {
      let field = world.server.last.name == "labels" ? "name" : "email"
      let user = #"{"__typename": "User", "id": \#(number), "\#(field)": "x"}"#
      world.server.last.data(#"{"issue": {"__typename": "Issue", "id": 1, "author": \#(user)}}"#)
    }
    #expect(world.server.count < 6)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `a refusal of the account hides everything until a request succeeds`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a")))
    _ = list.take()
    let detail = Recorder(world.store.get(GetIssue("1")))
    world.server.last.answer("{}", status: 401)
    #expect(list.take().map(\.value) == [nil])
    #expect(Recorder(world.store.get(GetIssuesWithIDs(), .cacheOnly)).error.value != nil)
    let again = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.data(issue("1", "A"))
    #expect(list.take().last?.value?.description == "A")
    withExtendedLifetime((detail, again)) {}
  }

  @Test func `what the server refuses to one operation is gone for all that begin with it`() throws {
    let world = try NormalizedWorld()
    let detail = Recorder(world.store.stream(GetIssue("1")))
    world.server.last.data(issue("1", "a"))
    let again = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.answer("{}", status: 403)
    #expect(detail.take().last?.value == nil)
    #expect(world.store.peek(GetIssue("1")) == nil)
    #expect(world.store.missingPath(of: GetIssue("1")) == "issue")
    #expect(world.server.count == 2)
    withExtendedLifetime(again) {}
  }

  @Test func `what a code beside data refuses is gone`() throws {
    let world = try NormalizedWorld()
    let first = Recorder(world.store.get(GetIssue("1")))
    world.server[0].data(issue("1", "secret"))
    let again = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server[1].answer(
      """
      {"data": {"issue": {"__typename": "Issue", "id": "1", "title": null, "state": "OPEN"}},
       "errors": [{"message": "No.", "path": ["issue", "title"], "extensions": {"code": "FORBIDDEN"}}]}
      """)
    #expect(again.error.value != nil)
    #expect(world.store.peek(GetIssue("1")) == nil)
    withExtendedLifetime(first) {}
  }

  @Test func `N6: what the server refuses is gone also while an older request is in progress`() throws {
    let world = try NormalizedWorld()
    let slow = Recorder(world.store.get(GetIssue("9"), .networkOnly))
    let first = Recorder(world.store.get(GetIssue("1")))
    world.server[1].data(issue("1", "secret"))
    let again = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server[2].answer("{}", status: 403)
    #expect(world.store.peek(GetIssue("1")) == nil)
    world.server[0].data(issue("9", "i"))
    #expect(world.store.peek(GetIssue("1")) == nil)
    #expect(world.store.size < 200)
    withExtendedLifetime((slow, first, again)) {}
  }

  @Test func `other operations that begin with what the server refuses do not show it any more`() throws {
    let world = try NormalizedWorld()
    let first = Recorder(world.store.get(GetIssue("1")))
    world.server[0].data(issue("1", "secret"))
    let other = Recorder(world.store.stream(OnlyState(), .cacheOnly))
    #expect(other.take().last?.value?.issue?.state == "OPEN")
    let again = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server[1].answer("{}", status: 403)
    #expect(other.take().last.map { $0.value == nil } == true)
    #expect(world.store.peek(OnlyState()) == nil)
    withExtendedLifetime((first, again)) {}
  }

  @Test func `a failed operation is not requested again for a time`() throws {
    let world = try NormalizedWorld()
    let first = Recorder(world.store.get(GetIssue("1")))
    world.server.last.fail()
    let second = Recorder(world.store.get(GetIssue("1")))
    #expect(second.error.value != nil)
    #expect(world.server.count == 1)
    world.time.advance(by: .seconds(2))
    let third = Recorder(world.store.get(GetIssue("1")))
    #expect(world.server.count == 2)
    withExtendedLifetime((first, third)) {}
  }

  @Test func `N7: a response that was requested before everything was removed is not kept`() async throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.get(GetIssues()))
    let mutation = Recorder(world.store.mutate(RenameIssue("1", "A")))
    try await world.store.clear()
    world.server[0].data(issues(("1", "a")))
    world.server[1].data(renamed("1", "A"))
    #expect(list.brief() == ["a network"])
    #expect(world.store.size == 0)
    #expect(world.store.peek(GetIssues()) == nil)
    withExtendedLifetime(mutation) {}
  }

  @Test func `N7: after a sign-out nothing is shown, and nothing comes back`() async throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a")))
    let detail = Recorder(world.store.get(GetIssue("1")))
    let mutation = Recorder(
      world.store.mutate(RenameIssue("1", "A"), optimisticResponse: ["rename": ["id": "1", "title": "A"]]))
    _ = list.take()
    try await world.store.signOut()
    #expect(list.take().last?.value == nil)
    #expect(list.isCompleted.value)
    #expect(detail.error.value as? StoreError == .signedOut)
    world.server[1].data(issue("1", "a"))
    world.server[2].data(renamed("1", "A"))
    #expect(mutation.error.value as? StoreError == .signedOut)
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    #expect(world.store.size == 0)
    #expect(Recorder(world.store.get(GetIssue("1"))).error.value as? StoreError == .signedOut)
  }

  @Test func `two accounts share nothing`() throws {
    let (first, second) = (try NormalizedWorld(), try NormalizedWorld())
    let own = Recorder(first.store.get(GetIssue("1")))
    first.server.last.data(issue("1", "secret"))
    #expect(second.store.peek(GetIssue("1")) == nil)
    withExtendedLifetime(own) {}
  }
}

/// What is dropped.
@Suite struct NormalizedCollectionTests {
  @Test func `N13: what no kept value was read of goes, and what a watcher has read stays`() throws {
    let world = try NormalizedWorld { $0.memoryCount = 1 }
    let watched = Recorder(world.store.stream(GetIssue("1")))
    world.server.last.data(issue("1", "a"))
    for id in 2...20 {
      let other = Recorder(world.store.get(GetIssue("\(id)")))
      world.server.last.data(issue("\(id)", String(repeating: "x", count: 100)))
      withExtendedLifetime(other) {}
    }
    let size = world.store.size
    world.store.collect()
    #expect(world.store.size < size / 4)
    #expect(world.store.peek(GetIssue("2")) == nil)
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 a OPEN")
    _ = watched.take()
    try world.store.update(GetIssue("1")) { $0.issue?.title = "A" }
    #expect(watched.brief() == ["1 A OPEN memory"])
  }

  @Test func `records that grow are collected by themselves`() throws {
    let world = try NormalizedWorld {
      $0.memoryCount = 2
      $0.collectionThreshold = 4_000
    }
    for id in 1...100 {
      let other = Recorder(world.store.get(GetIssue("\(id)")))
      world.server.last.data(issue("\(id)", String(repeating: "x", count: 100)))
      withExtendedLifetime(other) {}
      world.time.advance(by: .milliseconds(1))
    }
    #expect(world.store.size < 10_000)
    #expect(world.store.peek(GetIssue("100")) != nil)
  }

  @Test func `what is pushed is collected, too`() throws {
    let world = try NormalizedWorld { $0.collectionThreshold = 4_000 }
    for id in 0..<1_000 {
      try world.store.receive(
        ["rename": ["id": .string("\(id)"), "title": "a title that takes some bytes"]], of: RenameIssue("\(id)", "x"))
      world.time.advance(by: .milliseconds(1))
    }
    #expect(world.store.entityCount < 500)
    #expect(world.store.size < 20_000)
  }

  @Test func `collections can follow one another when nothing is left`() throws {
    let world = try NormalizedWorld()
    for id in 0..<2_000 {
      try world.store.receive(["rename": ["id": .string("\(id)"), "title": "a title"]], of: RenameIssue("\(id)", "x"))
    }
    for _ in 0..<3 { world.store.collect() }
    #expect(world.store.size == 0)
    #expect(world.store.entityCount == 0)
  }

  @Test func `to look for an entity makes none`() throws {
    struct Card: Codable, Sendable {
      let title: String?
    }
    let world = try NormalizedWorld()
    let card: GraphQLDocument = "fragment card on Issue { title }"
    for id in 0..<100 {
      let entity = EntityID("Issue", id: "\(id)")
      #expect(world.store.peek(Card.self, card, of: entity) == nil)
      #expect(try world.store.update(Card.self, card, of: entity) { _ in } == false)
    }
    #expect(world.store.entityCount == 0)
  }
}
