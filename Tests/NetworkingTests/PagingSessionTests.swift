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

  @Test func `a handler responds in the place of a client`() async throws {
    let connection = MomentsConnection(
      edges: [.init(cursor: "c", node: MomentsDetails.fixture().moments[0])],
      pageInfo: PageInfo(hasNextPage: true, endCursor: "c"), totalCount: 2)
    let connections = GetMomentsConnectionSession { _ in .just(.init(data: .init(momentsConnection: connection))) }
    #expect(try await connections.getMoments(userID: "0", first: 1, after: nil).value == connection)
  }
}
