import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

/// Operations that share entities, read by all policies.
@Suite struct NormalizedReadingTests {
  @Test func `the document gets what the cache needs, and the user's type does not see it`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.get(GetIssues()))
    #expect(world.server.last.document == "query getIssues { issues(first: 2) { __typename id  title } }")
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    #expect(list.brief() == ["a,b network"])
  }

  @Test func `a response shows at once in another operation that has the entity`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    #expect(list.brief() == ["- …", "a,b network"])
    let detail = Recorder(world.store.stream(GetIssue("1")))
    world.server.last.data(issue("1", "A"))
    #expect(detail.brief() == ["- …", "1 A OPEN network"])
    #expect(list.brief() == ["A,b memory"])
  }

  @Test func `who has read other entities, or other fields, hears of nothing`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    let other = Recorder(world.store.stream(GetIssue("2")))
    world.server.last.data(issue("2", "b"))
    _ = (list.take(), other.take())
    let detail = Recorder(world.store.stream(GetIssue("1")))
    world.server.last.data(issue("1", "a", "CLOSED"))
    #expect(detail.take().count == 2)
    #expect(list.take().isEmpty)
    #expect(other.take().isEmpty)
  }

  @Test func `an operation that was never requested is read if others have brought all of it`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.get(GetIssuesWithIDs()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    withExtendedLifetime(list) {}
    #expect(Recorder(world.store.get(GetIssues())).brief() == ["a,b memory"])
    #expect(world.server.count == 1)
  }

  @Test func `a read that lacks a field names it`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.get(GetIssuesWithIDs()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    withExtendedLifetime(list) {}
    #expect(world.store.missingPath(of: GetIssues()) == nil)
    #expect(world.store.missingPath(of: GetIssue("1")) == "issue")
    #expect(world.store.peek(GetIssue("1")) == nil)
  }

  @Test func `requests of an operation are joined`() throws {
    let world = try NormalizedWorld()
    let first = Recorder(world.store.get(GetIssue("1")))
    let second = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    #expect(world.server.count == 1)
    world.server.last.data(issue("1", "a"))
    #expect(first.brief() == ["1 a OPEN network"])
    #expect(second.brief() == ["1 a OPEN network"])
  }

  /// `GetIssue`, whose variables are compared as they are sent.
  private struct GetIssueBySentID: GraphQLSession {
    struct Variables: Encodable, Sendable { let id: String }
    typealias ResponseData = GetIssue.ResponseData
    static let query = GetIssue.query
    let variables: Variables
  }

  @Test func `ids that only look alike are two requests, and two values`() throws {
    let world = try NormalizedWorld()
    let (one, other) = ("caf\u{E9}", "cafe\u{301}")
    let first = Recorder(world.store.get(GetIssueBySentID(variables: .init(id: one))))
    let second = Recorder(world.store.get(GetIssueBySentID(variables: .init(id: other))))
    #expect(world.server.count == 2)
    world.server[0].data(issue(one, "a"))
    if world.server.count > 1 { world.server[1].data(issue(other, "b")) }
    #expect(first.take().last?.value?.issue?.title == "a")
    #expect(second.take().last?.value?.issue?.title == "b")
    #expect(world.store.peek(GetIssueBySentID(variables: .init(id: one)))?.value?.issue?.title == "a")
    #expect(world.store.peek(GetIssueBySentID(variables: .init(id: other)))?.value?.issue?.title == "b")
  }

  @Test func `variables tell keys apart`() throws {
    let world = try NormalizedWorld()
    _ = Recorder(world.store.get(GetIssue("1")))
    let first = Recorder(world.store.get(GetIssue("1")))
    let second = Recorder(world.store.get(GetIssue("2")))
    #expect(world.server.requests.value.filter { !$0.isCancelled.value }.count == 2)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `the policies read and request as those of a store do`() throws {
    let world = try NormalizedWorld()
    #expect(Recorder(world.store.get(GetIssue("1"), .cacheOnly)).error.value as? StoreError == .notCached)
    let first = Recorder(world.store.get(GetIssue("1")))
    world.server.last.data(issue("1", "a"))
    withExtendedLifetime(first) {}
    #expect(Recorder(world.store.get(GetIssue("1"), .cacheOnly)).brief() == ["1 a OPEN memory"])
    #expect(Recorder(world.store.get(GetIssue("1"), .cacheFirst)).brief() == ["1 a OPEN memory"])
    #expect(world.server.count == 1)
    let both = Recorder(world.store.stream(GetIssue("1"), .cacheAndNetwork))
    #expect(both.brief() == ["1 a OPEN memory …"])
    world.server.last.data(issue("1", "b"))
    #expect(both.brief() == ["1 b OPEN network"])
    let fallback = Recorder(world.store.get(GetIssue("1"), .networkFirst))
    world.server.last.fail()
    #expect(fallback.brief() == ["1 b OPEN memory !"])
    let uncached = Recorder(world.store.get(GetIssue("1"), .noCache))
    world.server.last.data(issue("1", "c"))
    #expect(uncached.brief() == ["1 c OPEN network"])
    #expect(world.store.peek(GetIssue("1"))?.value?.description == "1 b OPEN")
  }

  @Test func `a value becomes stale by its own response, and what others bring makes it no younger`() throws {
    let world = try NormalizedWorld { $0.freshness.staleTime = .seconds(60) }
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    _ = list.take()
    world.time.advance(by: .seconds(50))
    let detail = Recorder(world.store.get(GetIssue("1")))
    world.server.last.data(issue("1", "A"))
    withExtendedLifetime(detail) {}
    #expect(list.take().map(\.age) == [.seconds(50)])
    world.time.advance(by: .seconds(20))
    let again = Recorder(world.store.get(GetIssues()))
    #expect(world.server.count == 3)
    world.server.last.data(issues(("1", "A"), ("2", "b")))
    #expect(again.brief() == ["A,b network"])
  }

  @Test func `a value that nobody watches is the newest when it is read again`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.get(GetIssues()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    withExtendedLifetime(list) {}
    let detail = Recorder(world.store.get(GetIssue("1")))
    world.server.last.data(issue("1", "A"))
    withExtendedLifetime(detail) {}
    #expect(Recorder(world.store.get(GetIssues())).brief() == ["A,b memory"])
    #expect(world.store.peek(GetIssues())?.value?.description == "A,b")
  }

  @Test func `a watcher of what is not there gets it when another operation brings it`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues(), .cacheOnly))
    #expect(list.brief() == ["-"])
    let other = Recorder(world.store.get(GetIssuesWithIDs()))
    world.server.last.data(issues(("1", "a"), ("2", "b")))
    withExtendedLifetime(other) {}
    #expect(list.brief() == ["a,b memory"])
  }

  @Test func `a watcher follows an element that a list got later`() throws {
    let world = try NormalizedWorld()
    let list = Recorder(world.store.stream(GetIssues()))
    world.server.last.data(issues(("1", "a")))
    let withIDs = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    world.server.last.data(issues(("1", "a"), ("3", "c")))
    _ = (list.take(), withIDs)
    let detail = Recorder(world.store.get(GetIssue("3")))
    world.server.last.data(issue("3", "C"))
    withExtendedLifetime(detail) {}
    #expect(list.brief() == ["a,C memory"])
  }

  @Test(arguments: [GraphQLErrorPolicy.all, .ignore])
  func `what is requested again and again is requested once an interval, also if each answer has errors`(
    policy: GraphQLErrorPolicy
  ) throws {
    let world = try NormalizedWorld()
    let stream = Recorder(world.store.stream(GetIssue("1", errorPolicy: policy), every: .seconds(10), jitter: 0))
    world.server[0].data(issue("1", "a"))
    for count in 1..<4 {
      world.time.advance(by: .seconds(10))
      #expect(world.server.count == count + 1)
      world.server.last.answer(
        #"{"data": \#(issue("1", "a")), "errors": [{"message": "no", "path": ["issue", "state"]}]}"#)
      world.time.advance(by: .milliseconds(1))
      #expect(world.server.count == count + 1)
    }
    withExtendedLifetime(stream) {}
  }
}
