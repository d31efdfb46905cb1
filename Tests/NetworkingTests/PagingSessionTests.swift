import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Models
import Networking
import Streams
import StrictJSON
import Testing

@Suite struct PagingSessionTests {
  private let page = MomentsPage(
    curPage: 2, pageCount: 3, total: 41, size: 20, over: false, datas: MomentsDetails.fixture().moments)

  @Test func `a page is requested by its number`() async throws {
    let transport = ScriptedTransport(
      always: .json(
        #"{"data": {"momentsPage": {"curPage": 2, "pageCount": 3, "total": 9, "size": 4, "over": false, "datas": []}}}"#
      ))
    let session = GetMomentsPageSession(client: try client(transport), withLikes: { false })
    let answer = try await session.getMomentsPage(userID: "7", page: 2).value
    #expect(answer.curPage == 2)
    #expect(answer.pageCount == 3)
    #expect(!answer.over)
    #expect(answer.datas.isEmpty)
    #expect(transport.onlyRequest?.bodyJSON?["variables"] == ["userID": "7", "page": 2, "withLikes": false])
    #expect(transport.onlyRequest?.operationName == "momentsPage")
    #expect(transport.onlyRequest?.isReplayable == true)
  }

  @Test func `a part is requested by its cursor, and absent arguments are left out`() async throws {
    let info = #"{"hasNextPage": false, "hasPreviousPage": true}"#
    let transport = ScriptedTransport(
      always: .json(
        #"{"data": {"momentsConnection": {"edges": [], "pageInfo": \#(info), "totalCount": 4}}}"#
      ))
    let session = GetMomentsConnectionSession(client: try client(transport))
    let answer = try await session.getMoments(userID: "7", first: 2, after: "c").value
    #expect(answer.pageInfo == PageInfo(hasNextPage: false, hasPreviousPage: true))
    #expect(answer.totalCount == 4)
    _ = try await session.getMoments(userID: "7", first: nil, after: nil).value
    #expect(
      transport.requests.map { $0.bodyJSON?["variables"] } == [
        ["userID": "7", "first": 2, "after": "c", "withLikes": true], ["userID": "7", "withLikes": true],
      ])
    #expect(transport.requests.allSatisfy { $0.operationName == "momentsConnection" && $0.isReplayable })
  }

  @Test func `handlers respond in the place of a client`() async throws {
    let pages = GetMomentsPageSession { [page] in
      $0.variables.page == 2
        ? .just(.init(data: .init(momentsPage: page))) : .error(RequestError(.undecodable, "There is no such page."))
    }
    #expect(try await pages.getMomentsPage(userID: "0", page: 2).value == page)
    #expect(await pages.getMomentsPage(userID: "0", page: 1).failure?.kind == .undecodable)
    let connection = MomentsConnection(
      edges: [.init(cursor: "c", node: MomentsDetails.fixture().moments[0])],
      pageInfo: PageInfo(hasNextPage: true, endCursor: "c"), totalCount: 2)
    let connections = GetMomentsConnectionSession { _ in .just(.init(data: .init(momentsConnection: connection))) }
    #expect(try await connections.getMoments(userID: "0", first: 1, after: nil).value == connection)
  }

  @Test func `G7, G1: a page that is null is an error, and its errors fail it`() async throws {
    for (errors, kind) in [("null", RequestError.Kind.undecodable), (#"[{"message": "no"}]"#, .graphQL)] {
      let transport = ScriptedTransport(always: .json(#"{"data": {"momentsPage": null}, "errors": \#(errors)}"#))
      let failure = await GetMomentsPageSession(client: try client(transport)).getMomentsPage(userID: "0", page: 1)
        .failure
      #expect(failure?.kind == kind)
      #expect(failure?.operationName == "momentsPage")
    }
  }
}
