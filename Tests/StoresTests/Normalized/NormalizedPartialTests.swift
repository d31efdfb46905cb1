import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import Testing

@testable import Stores

/// Reads that show what is there while something is missing.
@Suite struct NormalizedPartialTests {
  private let folder = TemporaryFolder()

  /// The page about what a list has a row of: the list brings its title, not its state.
  private struct Detail: GraphQLSession {
    struct ResponseData: Codable, Hashable, Sendable, CustomStringConvertible {
      struct Issue: Codable, Hashable, Sendable { var title: String?, state: String? }
      var issues: [Issue]
      var description: String { issues.map { "\($0.title ?? "-") \($0.state ?? "-")" }.joined(separator: ",") }
    }
    static let query: GraphQLDocument = "query detail { issues(first: 2) { title state } }"
    var errorPolicy = GraphQLErrorPolicy.none
    static func data(_ title: String, _ state: String) -> String {
      #"{"issues": [{"__typename": "Issue", "id": "1", "title": "\#(title)", "state": "\#(state)"}]}"#
    }
  }

  @Test func `what is there is shown while the rest is requested`() async throws {
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    let detail = Recorder(world.store.stream(Detail(), allowsPartial: true))
    let first = try #require(detail.take().last)
    #expect(first.value?.description == "a -")
    #expect(first.isPartial && first.isStale && first.isFetching)
    world.server.last.data(Detail.data("a", "OPEN"))
    let second = try #require(detail.take().last)
    #expect(second.value?.description == "a OPEN")
    #expect(!second.isPartial && !second.isStale)
    #expect(world.server.count == 2)
  }

  @Test func `a read that allows no part does not see one`() async throws {
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    #expect(world.store.peek(Detail()) == nil)
    #expect(world.store.peek(Detail(), allowsPartial: true)?.brief == "a - memory ~")
    #expect(world.store.missingPath(of: Detail()) == "issues.0.state")
  }

  @Test func `nothing is shown of what was never met`() throws {
    let world = try NormalizedWorld()
    #expect(world.store.peek(Detail(), allowsPartial: true) == nil)
    let detail = Recorder(world.store.stream(Detail(), allowsPartial: true))
    #expect(detail.take().map(\.value?.description) == [nil])
    #expect(world.server.count == 1)
  }

  @Test func `a type that allows no null is not given a part`() async throws {
    struct Strict: GraphQLSession {
      struct ResponseData: Codable, Hashable, Sendable {
        struct Issue: Codable, Hashable, Sendable { var title: String, state: String }
        var issues: [Issue]
      }
      static let query: GraphQLDocument = "query strict { issues(first: 2) { title state } }"
    }
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    #expect(world.store.peek(Strict(), allowsPartial: true) == nil)
    let stream = Recorder(world.store.stream(Strict(), allowsPartial: true))
    world.server.last.data(Detail.data("a", "OPEN"))
    #expect(stream.take().last?.value?.issues.first?.state == "OPEN")
  }

  @Test func `what others bring completes a part, without a request of its own`() async throws {
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    let detail = Recorder(world.store.stream(Detail(), .cacheOnly, allowsPartial: true))
    #expect(detail.take().map(\.brief) == ["a - memory ~"])
    try await world.request(GetIssue("1"), issue("1", "a", "CLOSED"))
    #expect(detail.take().map(\.brief) == ["a CLOSED memory"])
    #expect(world.server.count == 2)
  }

  @Test func `a whole value that loses something becomes a part, and is requested again`() async throws {
    let world = try NormalizedWorld()
    let detail = Recorder(world.store.stream(Detail(), allowsPartial: true))
    world.server.last.data(Detail.data("a", "OPEN"))
    _ = detail.take()
    world.store.invalidate(EntityID("Issue", id: "1"), field: "state")
    let part = try #require(detail.take().last)
    #expect(part.value?.description == "a -")
    #expect(part.isPartial && part.isFetching)
    #expect(world.server.count == 2)
    world.server.last.data(Detail.data("a", "CLOSED"))
    #expect(detail.take().last?.brief == "a CLOSED network")
  }

  @Test func `each policy requests what is missing, and what is whole only if it says so`() async throws {
    for (policy, requests) in [
      (FetchPolicy.cacheFirst, 1), (.cacheOnly, 0), (.cacheAndNetwork, 1), (.staleWhileRevalidate, 1),
    ] {
      let world = try NormalizedWorld()
      try await world.request(GetIssues(), issues(("1", "a")))
      let part = Recorder(world.store.stream(Detail(), policy, allowsPartial: true))
      #expect(world.server.count == 1 + requests, "\(policy)")
      #expect(part.take().last?.value?.description == "a -", "\(policy)")
    }
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let whole = Recorder(world.store.stream(Detail(), .cacheFirst, allowsPartial: true))
    #expect(whole.take().last?.brief == "a OPEN memory")
    #expect(world.server.count == 2)
  }

  @Test func `its age, and whether it is out of date, are those of the operation`() async throws {
    let world = try NormalizedWorld(in: folder.url)
    let whole = Recorder(world.store.get(Detail(), .networkOnly))
    world.server.last.data(Detail.data("a", "OPEN"))
    try await whole.waitForCompletion()
    world.time.advance(by: .seconds(5))
    #expect(world.store.peek(Detail(), allowsPartial: true)?.age == .seconds(5))
    let part = Recorder(world.store.stream(Detail(), .networkOnly, allowsPartial: true))
    world.server.last.data(Detail.data("b", "OPEN"))
    try await world.store.flush()
    withExtendedLifetime(part) {}
    let copy = try folder.copy()
    let next = try NormalizedWorld(in: copy.url, later: .seconds(9))
    #expect(next.store.peek(Detail())?.brief == "b OPEN memory")
    #expect(next.store.peek(Detail())?.age == .seconds(4))
    try next.store.invalidate(Detail())
    #expect(next.store.peek(Detail(), allowsPartial: true)?.isStale == true)
  }

  @Test func `what the server refuses is not shown in part either`() async throws {
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    let part = Recorder(world.store.stream(Detail(), .cacheOnly, allowsPartial: true))
    #expect(part.take().map(\.brief) == ["a - memory ~"])
    let refused = Recorder(world.store.get(GetIssues(), .networkOnly))
    world.server.last.answer("{}", status: 403)
    try await refused.waitForEnd()
    #expect(part.take().map(\.brief) == ["-"])
    #expect(world.store.peek(Detail(), allowsPartial: true) == nil)
  }

  @Test func `a response with errors takes the place of a part, which is no better`() async throws {
    let world = try NormalizedWorld()
    try await world.request(GetIssues(), issues(("1", "a")))
    let detail = Recorder(world.store.stream(Detail(errorPolicy: .all), allowsPartial: true))
    _ = detail.take()
    world.server.last.answer(
      #"{"data": {"issues": [{"__typename": "Issue", "id": "1", "title": "b", "state": null}]}, "#
        + #""errors": [{"message": "no", "path": ["issues", 0, "state"]}]}"#)
    let shown = try #require(detail.take().last)
    #expect(shown.brief == "b - network !")
    #expect(shown.isPartial)
    #expect(world.server.count == 2)
  }

  @Test func `a part that only a mutation in progress has brought goes when that fails`() async throws {
    let world = try NormalizedWorld()
    let detail = Recorder(world.store.stream(Detail(), .cacheOnly, allowsPartial: true))
    let rename = Recorder(
      world.store.mutate(RenameIssue("1", "b"), optimisticResponse: .init(rename: .init(id: "1", title: "b"))) {
        try $1.write(["issues": [["id": "1", "title": "b"]]], of: GetIssues())
      })
    #expect(detail.take().map(\.brief) == ["-", "b - optimistic ~"])
    world.server.last.fail()
    try await rename.waitForEnd()
    #expect(detail.take().map(\.brief) == ["-"])
    #expect(world.store.peek(Detail(), allowsPartial: true) == nil)
  }

  @Test func `a response makes both forms of its operation younger, also if it says nothing new`() async throws {
    let world = try NormalizedWorld()
    try await world.request(Detail(), Detail.data("a", "OPEN"))
    let part = Recorder(world.store.stream(Detail(), .cacheOnly, allowsPartial: true))
    try world.store.invalidate(Detail())
    #expect(part.take().map(\.isStale) == [false, true])
    world.time.advance(by: .seconds(5))
    try await world.request(Detail(), Detail.data("a", "OPEN"))
    #expect(part.take().map(\.brief) == ["a OPEN memory"])
    world.time.advance(by: .seconds(5))
    #expect(world.store.peek(Detail(), allowsPartial: true)?.age == .seconds(5))
    let latest = Recorder(world.store.stream(Detail(), .networkOnly, allowsPartial: true))
    world.server.last.data(Detail.data("a", "OPEN"))
    #expect(latest.take().last?.brief == "a OPEN network")
    #expect(world.store.peek(Detail())?.age == .zero)
  }

  @Test func `a response that a removal hides makes the other form no younger`() async throws {
    let world = try NormalizedWorld()
    try await world.request(Detail(), Detail.data("a", "OPEN"))
    let whole = Recorder(world.store.stream(Detail(), .cacheOnly))
    let part = Recorder(world.store.stream(Detail(), .networkOnly, allowsPartial: true))
    world.store.invalidate(EntityID("Issue", id: "1"), field: "state")
    world.server.last.data(Detail.data("a", "OPEN"))
    #expect(world.store.peek(Detail())?.isStale == true)
    withExtendedLifetime((whole, part)) {}
  }

  @Test func `nothing is shown of a page that is not there`() async throws {
    struct GetFeed: GraphQLSession {
      struct Variables: Encodable, Hashable, Sendable { var after: String? }
      struct ResponseData: Codable, Hashable, Sendable {
        struct Feed: Codable, Hashable, Sendable { var edges: [Edge]? }
        struct Edge: Codable, Hashable, Sendable { var cursor: String? }
        var feed: Feed?
      }
      static let query: GraphQLDocument = """
        query feed($after: String) { feed(first: 1, after: $after) { edges { cursor } } }
        """
      let variables: Variables
    }
    let schema = """
      type Query { feed(first: Int, after: String): FeedConnection }
      type FeedConnection { edges: [FeedEdge!]! pageInfo: PageInfo! }
      type FeedEdge { cursor: String! }
      type PageInfo { hasNextPage: Boolean! endCursor: String }
      """
    let world = try NormalizedWorld(schema: schema, pagesConnections: true)
    let info = #""pageInfo": {"__typename": "PageInfo", "hasNextPage": true, "endCursor": "a"}"#
    try await world.request(
      GetFeed(variables: .init()),
      #"{"feed": {"__typename": "FeedConnection", "edges": [{"__typename": "FeedEdge", "cursor": "a"}], \#(info)}}"#)
    let (first, next) = (GetFeed(variables: .init()), GetFeed(variables: .init(after: "a")))
    #expect(world.store.peek(first, allowsPartial: true)?.value?.feed?.edges?.first?.cursor == "a")
    #expect(world.store.peek(next, allowsPartial: true) == nil)
  }
}
