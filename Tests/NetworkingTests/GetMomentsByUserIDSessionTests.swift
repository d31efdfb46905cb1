import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Models
import Networking
import Streams
import StrictJSON
import SystemBase
import Testing

@Suite struct GetMomentsByUserIDSessionTests {
  private let transport = ScriptedTransport(always: .moments("getMomentsDetailsByUserID"))

  @Test func `a timeline is requested by its operation, with its variables`() async throws {
    let session = GetMomentsByUserIDSession(client: try client(transport))
    #expect(try await session.getMoments(userID: "a/b?&#早").value == .fixture())
    let request = try #require(transport.onlyRequest)
    #expect(request.method == .post)
    #expect(request.operationName == "getMomentsDetailsByUserID")
    #expect(request.isReplayable)
    let body = try #require(request.bodyJSON)
    #expect(body["operationName"] == "getMomentsDetailsByUserID")
    #expect(body["variables"] == ["userID": "a/b?&#早", "withLikes": true])
    #expect(body["extensions"] == nil)
  }

  @Test func `the document is one query, which includes likes by a variable, and selects the url`() throws {
    let query = GetMomentsByUserIDSession.Session.query
    #expect(query.operations.map(\.kind) == [.query])
    #expect(query.operations.map(\.name) == ["getMomentsDetailsByUserID"])
    #expect(query.text.contains("isLiked @include(if: $withLikes)"))
    #expect(query.text.contains("likes @include(if: $withLikes) { id avatar }"))
    #expect(query.text.contains(#/\burl\b/#))
  }

  @Test func `the toggle is read for each request`() async throws {
    let withLikes = Locked(true)
    let session = GetMomentsByUserIDSession(client: try client(transport), withLikes: { withLikes.withLock { $0 } })
    let moments = session.getMoments(userID: "0")
    _ = try await moments.value
    withLikes.withLock { $0 = false }
    _ = try await moments.value
    _ = try await session.getMoments(userID: "0").value
    #expect(transport.requests.map { $0.bodyJSON?["variables"]?["withLikes"] } == [true, false, false])
  }

  @Test func `a handler in the place of a client gets the request as a value`() async throws {
    let userIDs = Locked<[String]>([])
    let session = GetMomentsByUserIDSession(
      sessionHandler: { request in
        userIDs.withLock { $0.append(request.variables.userID) }
        #expect(request.variables.withLikes == false)
        return .just(.init(data: .init(getMomentsDetailsByUserID: .fixture())))
      }, withLikes: { false })
    #expect(try await session.getMoments(userID: "7").value == .fixture())
    #expect(userIDs.withLock { $0 } == ["7"])
  }

  @Test func `G1: errors beside data fail, from a client and from a handler`() async throws {
    let errors = #"[{"message": "no views", "path": ["getMomentsDetailsByUserID", "moments", 7]}]"#
    let transport = ScriptedTransport(always: .moments("getMomentsDetailsByUserID", errors: errors))
    let handled = GetMomentsByUserIDSession { _ in
      let errors = [GraphQLError(message: "no views")]
      return .just(.init(data: .init(getMomentsDetailsByUserID: .fixture()), errors: errors))
    }
    for session in [GetMomentsByUserIDSession(client: try client(transport)), handled] {
      let error = await session.getMoments(userID: "0").failure
      #expect(error?.kind == .graphQL)
      #expect(error?.operationName == "getMomentsDetailsByUserID")
      #expect(error?.graphQLErrors.first?.message == "no views")
    }
  }

  @Test func `a handler's error is passed on`() async {
    let session = GetMomentsByUserIDSession { _ in .error(RequestError(.timedOut, "Late.")) }
    #expect(await session.getMoments(userID: "0").failure?.kind == .timedOut)
  }

  @Test func `a request is sent when it is subscribed to, and disposing cancels it`() throws {
    let transport = ScriptedTransport(always: .never)
    let moments = GetMomentsByUserIDSession(client: try client(transport)).getMoments(userID: "0")
    #expect(transport.requests.isEmpty)
    moments.subscribe().dispose()
    #expect(transport.requests.count == 1)
    #expect(transport.cancellations == 1)
  }

  @Test func `G7: a timeline that lacks a field is an error that names the path`() async throws {
    let transport = ScriptedTransport(
      always: .json(#"{"data": {"getMomentsDetailsByUserID": {"userDetails": {"id": "0"}, "moments": []}}}"#))
    let error = await GetMomentsByUserIDSession(client: try client(transport)).getMoments(userID: "0").failure
    #expect((error?.cause as? DecodingFailure)?.path == "data.getMomentsDetailsByUserID.userDetails.name")
  }

  @Test func `responses in pieces that split characters are put together`() async throws {
    for size in [1, 2, 3, 7] {
      let answer = ScriptedResponse.moments("getMomentsDetailsByUserID").inPieces(of: size)
      let session = GetMomentsByUserIDSession(client: try client(ScriptedTransport(always: answer)))
      #expect(try await session.getMoments(userID: "0").value == .fixture())
    }
  }
}
