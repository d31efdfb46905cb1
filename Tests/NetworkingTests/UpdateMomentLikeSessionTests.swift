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

@Suite struct UpdateMomentLikeSessionTests {
  private let transport = ScriptedTransport(always: .moments("updateMomentLike"))

  @Test func `a like is set by its operation, with its variables`() async throws {
    let session = UpdateMomentLikeSession(client: try client(transport))
    #expect(try await session.updateLike(true, momentID: "m\"0", fromUserID: "1").value == .fixture())
    #expect(try await session.updateLike(false, momentID: "m0-0", fromUserID: "0").value == .fixture())
    let bodies = transport.requests.map(\.bodyJSON)
    #expect(bodies.map { $0?["operationName"] } == ["updateMomentLike", "updateMomentLike"])
    #expect(bodies[0]?["variables"] == ["momentID": "m\"0", "userID": "1", "isLiked": true, "withLikes": true])
    #expect(bodies[1]?["variables"] == ["momentID": "m0-0", "userID": "0", "isLiked": false, "withLikes": true])
    #expect(transport.requests.allSatisfy { $0.method == .post && $0.operationName == "updateMomentLike" })
  }

  @Test func `R1: a like is not to be sent again by itself`() async throws {
    _ = try await UpdateMomentLikeSession(client: client(transport))
      .updateLike(true, momentID: "m0-0", fromUserID: "0").value
    #expect(transport.onlyRequest?.isReplayable == false)
  }

  @Test func `R1: a like with an idempotency key may be resent, always with that key`() async throws {
    let session = UpdateMomentLikeSession(client: try client(transport))
    let details = try await session.updateLike(true, momentID: "m0-0", fromUserID: "0", idempotencyKey: "key-1").value
    #expect(details == .fixture())
    #expect(transport.onlyRequest?.isReplayable == true)
    #expect(transport.onlyRequest?.idempotencyKey == "key-1")
    #expect(transport.onlyRequest?.bodyJSON?["variables"]?["momentID"] == "m0-0")
  }

  @Test func `the document is one mutation with the fields of the timeline's query`() {
    let query = UpdateMomentLikeSession.Session.query
    #expect(query.operations.map(\.kind) == [.mutation])
    #expect(query.operations.map(\.name) == ["updateMomentLike"])
    let fragment = { (document: GraphQLDocument) in document.text.split(separator: "fragment ").last }
    #expect(fragment(query) == fragment(GetMomentsByUserIDSession.Session.query))
  }

  @Test func `G5: a like cannot be sent by GET`() async throws {
    let session = UpdateMomentLikeSession.Session(isLiked: true, momentID: "m0-0", userID: "0")
    #expect(await session.get(on: try client(transport)).failure?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `the toggle is read for each request`() async throws {
    let withLikes = Locked(true)
    let session = UpdateMomentLikeSession(client: try client(transport), withLikes: { withLikes.withLock { $0 } })
    let update = session.updateLike(true, momentID: "m0-0", fromUserID: "0")
    _ = try await update.value
    withLikes.withLock { $0 = false }
    _ = try await update.value
    #expect(transport.requests.map { $0.bodyJSON?["variables"]?["withLikes"] } == [true, false])
  }

  @Test func `a handler in the place of a client gets the request as a value`() async throws {
    let session = UpdateMomentLikeSession { request in
      let variables = request.variables
      #expect(variables.momentID == "m1-2")
      #expect(variables.userID == "3")
      #expect(variables.isLiked)
      #expect(variables.withLikes)
      return .just(.init(data: .init(updateMomentLike: .fixture(userID: "1"))))
    }
    let details = try await session.updateLike(true, momentID: "m1-2", fromUserID: "3").value
    #expect(details == .fixture(userID: "1"))
  }

  @Test func `G1: errors beside data fail, from a client and from a handler`() async throws {
    let transport = ScriptedTransport(always: .moments("updateMomentLike", errors: #"[{"message": "no"}]"#))
    let handled = UpdateMomentLikeSession { _ in
      .just(.init(data: .init(updateMomentLike: .fixture()), errors: [GraphQLError(message: "no")]))
    }
    for session in [UpdateMomentLikeSession(client: try client(transport)), handled] {
      let error = await session.updateLike(true, momentID: "m0-0", fromUserID: "0").failure
      #expect(error?.kind == .graphQL)
      #expect(error?.operationName == "updateMomentLike")
    }
  }
}
