import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPMiddlewares
import SocketHTTP
import Streams
import TestSupport
import Testing

/// The protocols, on the real server.
enum LiveWay: String, CaseIterable, Sendable {
  case webSocket, legacyWebSocket, eventStream, multipart

  /// Whether one connection carries all subscriptions.
  var isSocket: Bool { self == .webSocket || self == .legacyWebSocket }

  func transport(_ settings: LiveSettings = LiveSettings()) -> any LiveTransport {
    switch self {
    case .webSocket: .webSocket(settings: settings)
    case .legacyWebSocket: .legacyWebSocket(settings: settings)
    case .eventStream: .eventStream(settings)
    case .multipart: .multipart(settings)
    }
  }

  func client(_ url: URL, _ settings: LiveSettings = LiveSettings()) throws -> APIClient {
    var client = try APIClient(baseURL: url)
    client.graphQL.live = transport(settings)
    return client
  }
}

@Suite(.timeLimit(.minutes(2))) struct RealServerLiveTests {
  @Test(arguments: LiveWay.allCases)
  func `L1: the results of a subscription come once, in order, and then it completes`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    var numbers: [Int] = []
    for try await data in Countdown(100).data(on: client).values { numbers.append(data.countdown) }
    #expect(numbers == Array((0...100).reversed()))
  }

  @Test(arguments: LiveWay.allCases)
  func `the first event says that there is a connection`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    let seen = Seen(Countdown(1).subscribe(on: client))
    try await seen.state.wait { $0.isEnded }
    let expected: [LiveEvent<GraphQLResponse<Countdown.ResponseData>>] =
      [.connected] + [1, 0].map { .value(GraphQLResponse(data: Countdown.ResponseData(countdown: $0))) }
    #expect(seen.elements == expected)
  }

  @Test(arguments: LiveWay.allCases)
  func `an error of a result ends the stream by the policy none`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    let seen = Seen(Countdown(3, failAt: .some(1)).data(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.countdown) == [3, 2])
    #expect(end.error?.kind == .graphQL)
    #expect(end.error?.graphQLErrors.first?.code == "COUNTDOWN_FAILED")
    #expect(end.error?.operationName == "countdown")
  }

  @Test(arguments: LiveWay.allCases)
  func `a result with errors alone is a failed event by the policy all`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    var countdown = Countdown(3, failAt: .some(1))
    countdown.errorPolicy = .all
    let seen = Seen(countdown.subscribe(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.error == nil)
    guard case .failed(let error) = end.elements.last else { return _ = Issue.record("The event is missing.") }
    #expect(error.graphQLErrors.first?.code == "COUNTDOWN_FAILED")
    #expect(error.operationName == "countdown")
    #expect(end.elements.compactMap(\.value?.data.countdown) == [3, 2])
  }

  @Test(arguments: LiveWay.allCases)
  func `a subscription that the server refuses fails with its errors`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    let seen = Seen(Liked(userID: "99").data(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.error?.graphQLErrors.first?.code == "NOT_FOUND")
  }

  @Test(arguments: LiveWay.allCases)
  func `L5: a disposed subscription is completed on the server`(way: LiveWay) async throws {
    let server = try await BFFServer.start()
    let client = try way.client(server.graphqlURL)
    let seen = Seen(Liked(userID: "1").subscribe(on: client))
    try await server.waitForSubscribers { $0 > 0 }
    _ = try await SetLike(variables: .init(momentID: "m1-0", userID: "4", isLiked: true)).post(on: client).value
    try await seen.state.wait { $0.elements.count == 2 }
    seen.dispose()
    try await server.waitForSubscribers { $0 == 0 }
    #expect(seen.elements.last?.value?.data.momentLiked.likes.map(\.id).contains("4") == true)
  }

  @Test(arguments: LiveWay.allCases, ["graphql", "http"])
  func `L6: a rejected token is refreshed once, for the subscription and for requests`(way: LiveWay, mode: String)
    async throws
  {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = try BFFTokens(url: server.graphqlURL, token: AccessToken("expired-token"))
    var client = try way.client(server.graphqlURL)
    client.middlewares = [AuthMiddleware(tokens, challenge: .graphQL)]
    let seen = Seen(Countdown(2).data(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.countdown) == [2, 1, 0])
    #expect(end.error == nil)
    #expect(try await server.stats().operations["refreshToken"] == 1)
  }

  @Test(arguments: LiveWay.allCases, ["graphql", "http"])
  func `L6: a token that is rejected again is an error`(way: LiveWay, mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = InMemoryTokenProvider(AccessToken("expired-token")) { _ in .just(AccessToken("unknown-token")) }
    var client = try way.client(server.graphqlURL)
    client.middlewares = [AuthMiddleware(tokens, challenge: .graphQL)]
    let seen = Seen(Countdown(2).data(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    // A WebSocket is refused with 4403, whatever the reason.
    #expect(end.error?.isUnauthenticated == true || end.error?.isForbidden == true)
    let requests = try await server.stats().requests
    #expect(requests["/graphql", default: 0] + requests["websocket", default: 0] == 2)
  }
}
