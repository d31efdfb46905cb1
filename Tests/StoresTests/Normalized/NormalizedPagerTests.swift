import GraphQLClient
import StoresTestSupport
import Streams
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// Pagers of a connection, through a client.
@Suite struct NormalizedPagerTests {
  struct GetPage: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable {
      var first: Int?
      var after: String?
      var last: Int?
      var before: String?
    }
    struct ResponseData: Codable, Hashable, Sendable {
      struct Connection: Codable, Hashable, Sendable {
        struct Edge: Codable, Hashable, Sendable { var node: Node }
        struct Node: Codable, Hashable, Sendable {
          var id: String
          var title: String
        }
        struct PageInfo: Codable, Hashable, Sendable {
          var hasNextPage: Bool
          var hasPreviousPage: Bool
          var startCursor: String?
          var endCursor: String?
        }
        var edges: [Edge]
        var pageInfo: PageInfo
      }
      var feed: Connection
    }
    static let query: GraphQLDocument = """
      query page($first: Int, $after: String, $last: Int, $before: String) {
        feed(first: $first, after: $after, last: $last, before: $before) {
          edges { cursor node { id title } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        }
      }
      """
    let variables: Variables
  }

  typealias FeedPager = ConnectionPager<GetPage.ResponseData.Connection.Node, String>

  private static let schema = """
    type Query { feed(first: Int, after: String, last: Int, before: String): FeedConnection! issue(id: ID!): Issue }
    type Mutation { rename(id: ID!, title: String!): Issue }
    type FeedConnection { edges: [FeedEdge!]! pageInfo: PageInfo! }
    type FeedEdge { cursor: String! node: Issue! }
    type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
    type Issue { id: ID! title: String state: String }
    """

  let world: NormalizedWorld

  init() throws { world = try NormalizedWorld(schema: Self.schema, pagesConnections: true) }

  private func pager(of world: NormalizedWorld? = nil, backwards: Bool = false, count: Int = 2) -> FeedPager {
    (world ?? self.world).store.pager { page in
      GetPage(
        variables: backwards
          ? .init(last: count, before: page.before) : .init(first: count, after: page.after))
    } page: { data in
      let info = data.feed.pageInfo
      return Page(
        data.feed.edges.map(\.node), hasNextPage: info.hasNextPage, endCursor: info.endCursor,
        hasPreviousPage: info.hasPreviousPage, startCursor: info.startCursor)
    }
  }

  private func page(
    _ ids: [Int], hasNext: Bool = false, hasPrevious: Bool = false, reaching cursor: String? = nil
  ) -> String {
    let edges = ids.map { id in
      """
      {"__typename": "FeedEdge", "cursor": "c\(id)", "node": {"__typename": "Issue", "id": "\(id)", "title": "t\(id)"}}
      """
    }
    let reached = cursor.map { "\"\($0)\"" } ?? "null"
    let cursors = (ids.first.map { "\"c\($0)\"" } ?? reached, ids.last.map { "\"c\($0)\"" } ?? reached)
    return """
      {"feed": {"__typename": "FeedConnection", "edges": [\(edges.joined(separator: ","))], "pageInfo": {
      "__typename": "PageInfo", "hasNextPage": \(hasNext), "hasPreviousPage": \(hasPrevious),
      "startCursor": \(cursors.0), "endCursor": \(cursors.1)}}}
      """
  }

  @Test func `pages are requested one after the other, and shown as one list`() throws {
    let pager = pager()
    let states = Recorder(pager.states)
    #expect(states.brief == "…")
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    pager.loadMore()
    #expect(world.server.count == 2)
    world.server.last.data(page([3], hasPrevious: true))
    pager.loadMore()
    #expect(world.server.count == 2)
    #expect(states.brief == "t1,t2>| t1,t2>…| t1,t2,t3")
  }

  @Test func `pages without elements that begin a list are followed by the next, also after a restart`() async throws {
    var schema = try RecordSchema(Self.schema)
    schema.pageConnections()
    let folder = TemporaryFolder()
    let before = try NormalizedWorld(in: folder.url, schema: schema)
    let pager = pager(of: before)
    before.server.last.data(page([], hasNext: true, reaching: "c1"))
    try await eventually { !pager.state.isLoading }
    #expect(pager.state.brief == ">")
    let loading = Task { await pager.loadedMore() }
    try await before.server.wait(for: 2)
    #expect(before.server.last["variables"]?["after"] == "c1")
    before.server.last.data(page([], hasNext: true, hasPrevious: true, reaching: "c2"))
    #expect(await loading.value.brief == ">")
    await before.store.close()
    let world = try NormalizedWorld(in: folder.url, schema: schema)
    let later = self.pager(of: world)
    #expect(later.state.brief == ">")
    let more = Task { await later.loadedMore() }
    try await world.server.wait(for: 1)
    #expect(world.server.last["variables"]?["after"] == "c2")
    world.server.last.data(page([3], hasPrevious: true))
    #expect(await more.value.brief == "t3")
  }

  @Test func `a pager shows at once what another has loaded, and shares what it loads`() throws {
    let first = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    let second = pager()
    #expect(world.server.count == 1)
    #expect(second.state.brief == "t1,t2>")
    first.loadMore()
    second.loadMore()
    #expect(world.server.count == 2)
    world.server.last.data(page([3], hasPrevious: true))
    #expect(first.state.brief == "t1,t2,t3")
    #expect(second.state.brief == "t1,t2,t3")
  }

  @Test func `the pages that were loaded are there after a restart, and the next one follows them`() async throws {
    var schema = try RecordSchema(Self.schema)
    schema.pageConnections()
    let folder = TemporaryFolder()
    let before = try NormalizedWorld(in: folder.url, schema: schema)
    try await before.request(GetPage(variables: .init(first: 2)), page([1, 2], hasNext: true))
    try await before.request(
      GetPage(variables: .init(first: 2, after: "c2")), page([3, 4], hasNext: true, hasPrevious: true))
    // A page that comes alone, with a gap before it.
    try await before.request(GetPage(variables: .init(first: 2, after: "c8")), page([9], hasPrevious: true))

    let copy = try folder.copy()
    let world = try NormalizedWorld(in: copy.url, schema: schema)
    let pager = pager(of: world)
    #expect(pager.state.brief == "t1,t2,t3,t4>")
    #expect(world.server.count == 0)
    try await world.request(
      GetPage(variables: .init(first: 4, after: "c4")), page([5, 6, 7, 8], hasNext: true, hasPrevious: true))
    try await shows("t1,t2,t3,t4,t5,t6,t7,t8>", pager)
    try await world.request(GetPage(variables: .init(first: 2, after: "c8")), page([9], hasPrevious: true))
    try await shows("t1,t2,t3,t4,t5,t6,t7,t8,t9", pager)
  }

  /// Waits until a pager has a state.
  private func shows(_ brief: String, _ pager: FeedPager) async throws {
    let states = pager.states.filter { $0.brief == brief }.take(1)
    _ = try await states.timeout(.seconds(30), scheduler: ConcurrentScheduler()).value
  }

  @Test func `a change of a row by another operation shows once`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    world.server.last.data(page([3], hasPrevious: true))
    let states = Recorder(pager.states)
    _ = states.take()
    let rename = Recorder(
      world.store.mutate(RenameIssue("3", "c"), optimisticResponse: .init(rename: .init(id: "3", title: "c"))))
    #expect(states.brief == "t1,t2,c")
    world.server.last.data(renamed("3", "C"))
    #expect(states.brief == "t1,t2,C")
    withExtendedLifetime(rename) {}
  }

  @Test func `the failure of a page stays until it is requested again, and others may come meanwhile`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    world.server.last.fail()
    #expect(pager.state.brief == "t1,t2> next failed")
    pager.refresh()
    world.server.last.data(page([0, 1], hasNext: true))
    #expect(pager.state.brief == "t0,t1,t2> next failed")
    pager.loadMore()
    #expect(pager.state.brief == "t0,t1,t2>…")
    world.server.last.data(page([3], hasPrevious: true))
    #expect(pager.state.brief == "t0,t1,t2,t3")
  }

  @Test func `a refresh keeps later pages until its response, and after it if that shares a row with them`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    world.server.last.data(page([3, 4], hasNext: true, hasPrevious: true))
    pager.refresh()
    #expect(pager.state.brief == "t1,t2,t3,t4>…")
    world.server.last.data(page([0, 1], hasNext: true))
    #expect(pager.state.brief == "t0,t1,t2,t3,t4>")
    pager.refresh()
    world.server.last.data(page([8, 9], hasNext: true))
    #expect(pager.state.brief == "t8,t9>")
    pager.loadMore()
    world.server.last.data(page([0, 1], hasNext: true, hasPrevious: true))
    #expect(pager.state.brief == "t8,t9,t0,t1,t2,t3,t4>")
  }

  @Test func `a list is loaded backwards from its end`() throws {
    let pager = pager(backwards: true)
    world.server.last.data(page([5, 6], hasPrevious: true))
    #expect(pager.state.brief == "<t5,t6")
    pager.loadPrevious()
    #expect(world.server.last["variables"]?["before"] == "c5")
    world.server.last.data(page([3, 4], hasNext: true))
    #expect(pager.state.brief == "t3,t4,t5,t6")
    pager.loadPrevious()
    #expect(world.server.count == 2)
  }

  @Test func `edits and optimistic changes of the list show, and pages that come keep them`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    try world.store.update(GetPage(variables: .init(first: 2))) { $0.feed.edges.remove(at: 0) }
    #expect(pager.state.brief == "t2>…")
    world.server.last.data(page([3], hasPrevious: true))
    #expect(pager.state.brief == "t2,t3")
  }

  @Test func `a refresh and a later page may be answered in any order`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.refresh()
    pager.loadMore()
    world.server[2].data(page([3], hasPrevious: true))
    world.server[1].data(page([0, 1], hasNext: true))
    #expect(pager.state.brief == "t0,t1,t2,t3")
  }

  @Test func `rows that a list got behind its end are loaded after a refresh that says there are more`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2]))
    #expect(pager.state.brief == "t1,t2")
    pager.refresh()
    world.server.last.data(page([1, 2], hasNext: true))
    #expect(pager.state.brief == "t1,t2>")
    pager.loadMore()
    world.server.last.data(page([3, 4], hasPrevious: true))
    #expect(pager.state.brief == "t1,t2,t3,t4")
  }

  @Test func `rows that a list got before its beginning are loaded backwards, too`() throws {
    let pager = pager(backwards: true)
    world.server.last.data(page([3, 4]))
    pager.refresh()
    world.server.last.data(page([3, 4], hasPrevious: true))
    #expect(pager.state.brief == "<t3,t4")
    pager.loadPrevious()
    world.server.last.data(page([1, 2], hasNext: true))
    #expect(pager.state.brief == "t1,t2,t3,t4")
  }

  @Test(arguments: [[5, 4], [4, 5], [6, 5], [6], [5]])
  func `rows that were moved to the front do not take those with them that followed them`(moved: [Int]) throws {
    let pager = pager(count: 6)
    world.server.last.data(page([1, 2, 3, 4, 5, 6]))
    let list = moved + (1...6).filter { !moved.contains($0) }
    pager.refresh()
    world.server.last.data(page(moved, hasNext: true))
    #expect(pager.state.items.map(\.id) == moved.map(String.init))
    while pager.state.hasNextPage {
      pager.loadMore()
      let cursor = try #require(world.server.last["variables"]?["after"]?.stringValue)
      let place = try #require(list.firstIndex { "c\($0)" == cursor }) + 1
      let end = min(place + 2, list.count)
      world.server.last.data(page(Array(list[place..<end]), hasNext: end < list.count, hasPrevious: true))
    }
    #expect(pager.state.items.map(\.id) == list.map(String.init))
  }

  @Test func `rows that were moved to the end of a list that is loaded backwards leave those before them`() throws {
    let pager = pager(backwards: true, count: 4)
    world.server.last.data(page([1, 2, 3, 4]))
    pager.refresh()
    world.server.last.data(page([2, 1], hasPrevious: true))
    #expect(pager.state.brief == "<t2,t1")
    pager.loadPrevious()
    world.server.last.data(page([3, 4], hasNext: true))
    #expect(pager.state.brief == "t3,t4,t2,t1")
  }

  @Test func `an invalidated operation requests the first page again`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    try world.store.invalidate(GetPage(variables: .init(first: 2)))
    #expect(world.server.count == 2)
    world.server.last.data(page([1, 2], hasNext: true))
    #expect(pager.state.brief == "t1,t2>")
  }

  @Test func `pages that another process has got stay when the response to an older request comes`() async throws {
    let records = SharedRecords()
    var schema = try RecordSchema(Self.schema)
    schema.pageConnections()
    func process() throws -> NormalizedWorld { try NormalizedWorld(sharing: records.opened(), schema: schema) }
    func session(_ after: Int) -> GetPage { GetPage(variables: .init(first: 2, after: after == 0 ? nil : "c\(after)")) }
    let (first, second) = (try process(), try process())
    try await first.request(session(0), page([1, 2], hasNext: true))
    #expect(second.store.missingPath(of: session(0)) == nil)
    let slow = Recorder(second.store.get(session(2), .networkOnly))
    try await first.request(session(2), page([3, 4], hasNext: true, hasPrevious: true))
    try await first.request(session(4), page([5, 6], hasPrevious: true))
    try second.store.takeOthers()
    second.server.last.data(page([3, 4], hasNext: true, hasPrevious: true))
    try await slow.waitForCompletion()
    try first.store.takeOthers()
    for world in [first, second, try process()] {
      for after in [0, 2, 4] { #expect(world.store.missingPath(of: session(after)) == nil, "after \(after)") }
    }
  }

  /// A page of which rows have ids alone.
  private struct GetIDs: GraphQLSession {
    struct ResponseData: Codable, Sendable {
      struct Feed: Codable, Sendable {
        struct Edge: Codable, Sendable { struct Node: Codable, Sendable { var id: String }; var node: Node }
        var edges: [Edge]
      }
      var feed: Feed
    }
    static let query: GraphQLDocument = """
      { feed(first: 3) { edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }
      """
  }

  @Test func `rows that another operation has brought without a field come when they are requested`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    let ids = Recorder(world.store.get(GetIDs()))
    world.server.last.data(page([1, 9, 2], hasNext: true).replacing(", \"title\": \"t9\"", with: ""))
    withExtendedLifetime(ids) {}
    #expect(pager.state.brief == "t1>")
    pager.loadMore()
    #expect(world.server.last["variables"]?["after"] == "c1")
    world.server.last.data(page([9, 2], hasNext: true))
    #expect(pager.state.brief == "t1,t9,t2>")
  }

  @Test func `pagers with pages of other sizes share a list`() throws {
    let small = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    let large = pager(count: 4)
    #expect(large.state.brief == "t1,t2>")
    #expect(world.server.count == 1)
    large.loadMore()
    world.server.last.data(page([3, 4, 5], hasPrevious: true))
    #expect(small.state.brief == "t1,t2,t3,t4,t5")
  }

  @Test func `an optimistic edit of the list shows over pages that come, and goes with the mutation`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    let mutation = Recorder(
      world.store.mutate(
        RenameIssue("9", "t9"), optimisticResponse: .init(rename: .init(id: "9", title: "t9"))
      ) { response, edits in
        guard let issue = response.rename else { return }
        try edits.update(GetPage(variables: .init(first: 2))) {
          $0.feed.edges.insert(.init(node: .init(id: issue.id, title: issue.title ?? "")), at: 0)
        }
      })
    #expect(pager.state.brief == "t9,t1,t2>")
    pager.loadMore()
    world.server.last.data(page([3], hasPrevious: true))
    #expect(pager.state.brief == "t9,t1,t2,t3")
    world.server[1].fail()
    #expect(pager.state.brief == "t1,t2,t3")
    #expect(mutation.error.value != nil)
  }

  @Test func `what is cleared, and an account that ends, take the rows with them`() async throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    try await world.store.clear()
    #expect(pager.state.items.isEmpty)
    pager.loadMore()
    world.server.last.data(page([1, 2], hasNext: true))
    #expect(pager.state.brief == "t1,t2>")
    let states = Recorder(pager.states)
    try await world.store.signOut()
    #expect(pager.state.items.isEmpty)
    #expect(states.isCompleted.value)
  }

  @Test func `tasks get the state after their page`() async throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    let more = Task { await pager.loadedMore() }
    world.server.last.data(page([3], hasPrevious: true))
    #expect(await more.value.brief == "t1,t2,t3")
    #expect(await pager.loadedMore().brief == "t1,t2,t3")
    #expect(await pager.loadedPrevious().brief == "t1,t2,t3")
  }

  @Test(.timeLimit(.minutes(1))) func `tasks get the last state at once when the store has ended`() async throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    await world.store.close()
    for _ in 0..<2 {
      #expect(await pager.refreshed().brief == pager.state.brief)
      #expect(await pager.loadedMore().brief == pager.state.brief)
      #expect(await pager.loadedPrevious().brief == pager.state.brief)
      try await world.store.signOut()
    }
  }

  @Test func `a released pager cancels its requests`() throws {
    var pager: FeedPager? = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    let states = try Recorder(#require(pager).states)
    pager?.loadMore()
    pager = nil
    #expect(world.server.last.isCancelled.value)
    #expect(states.isCompleted.value)
  }

  @Test func `a page of its own is read by its arguments`() throws {
    let pager = pager()
    world.server.last.data(page([1, 2], hasNext: true))
    pager.loadMore()
    world.server.last.data(page([3], hasPrevious: true))
    let page = Recorder(world.store.get(GetPage(variables: .init(first: 1, after: "c1"))))
    #expect(page.elements.value.last?.value?.feed.edges.map(\.node.title) == ["t2"])
    #expect(world.server.count == 2)
  }
}

extension ConnectionState<NormalizedPagerTests.GetPage.ResponseData.Connection.Node> {
  /// The rows, `<` and `>` where there are more, and `…` during a request.
  var brief: String {
    let rows = (hasPreviousPage ? "<" : "") + items.map(\.title).joined(separator: ",") + (hasNextPage ? ">" : "")
    let isNextFailed = if case .failed = next { true } else { false }
    return rows + (isNextFailed ? " next failed" : "") + (isLoading ? "…" : "")
  }
}

extension Recorder<ConnectionState<NormalizedPagerTests.GetPage.ResponseData.Connection.Node>> {
  var brief: String { take().map(\.brief).joined(separator: "| ") }
}
