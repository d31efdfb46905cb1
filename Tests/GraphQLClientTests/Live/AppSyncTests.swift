import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

/// AWS AppSync's dialect, spoken by a scripted peer, in virtual time.
@Suite struct AppSyncTests {
  private static let api = "https://abc123.appsync-api.us-east-1.amazonaws.com/graphql"

  private struct Harness {
    let scheduler = TestScheduler()
    let sockets = ScriptedSockets()
    var client: APIClient

    init(
      _ api: String = AppSyncTests.api, fields: [String: String] = ["x-api-key": "da2-key"],
      middlewares: [any HTTPMiddleware] = []
    ) throws {
      var settings = LiveSettings()
      settings.pauses = Backoff(initial: .seconds(1), maximum: .seconds(60), random: { 0 })
      client = try APIClient(baseURL: url(api), transport: ScriptedTransport(), middlewares: middlewares)
      for (name, value) in fields { try client.defaultHeaders.set(name, to: value) }
      client.graphQL.live = .appSync(over: sockets, settings: settings, scheduler: scheduler)
    }

    var last: ScriptedSockets.Attempt {
      get throws { try #require(sockets.attempts.last) }
    }

    func advance(_ seconds: Int) { scheduler.advance(by: .seconds(seconds)) }

    func subscribe(_ subscription: Countdown = Countdown(3)) -> Seen<LiveEvent<Int>> {
      let seen = Seen(subscription.subscribe(on: client).map { event in event.map(\.data.countdown) })
      advance(0)
      return seen
    }

    /// Subscribes on a connection that is ready.
    func connected() throws -> (Seen<LiveEvent<Int>>, ScriptedSockets.Attempt) {
      let seen = subscribe()
      let attempt = try last
      attempt.acknowledge(milliseconds: 300_000)
      attempt.send(#"{"type":"start_ack","id":"\#(attempt.ids[0])"}"#)
      advance(0)
      return (seen, attempt)
    }
  }

  @Test
  func `an API key goes into the address, as base64 of JSON with the host; the payload is that of an empty object`()
    throws
  {
    let harness = try Harness()
    let seen = harness.subscribe()
    defer { seen.dispose() }
    let request = try harness.last.request
    #expect(request.url.host == "abc123.appsync-realtime-api.us-east-1.amazonaws.com")
    #expect(request.url.scheme == "wss")
    #expect(request.url.path == "/graphql")
    #expect(request.subprotocols == ["graphql-ws"])
    #expect(
      try request.query("header")
        == ["host": "abc123.appsync-api.us-east-1.amazonaws.com", "x-api-key": "da2-key"])
    #expect(try request.query("payload") == [:])
    #expect(!request.headers.contains("x-api-key"))
    try harness.last.open()
    #expect(try harness.last.all == [["type": "connection_init"]])
  }

  @Test func `a token goes there without its scheme, whether it is the client's or that of an AuthMiddleware`() throws {
    let fields = try Harness(fields: ["Authorization": "Bearer to+ken/1??>>", "x-api-key": "unused"])
    let tokens = InMemoryTokenProvider(AccessToken("to+ken/1??>>")) { _ in .empty() }
    let provider = try Harness(fields: [:], middlewares: [AuthMiddleware(tokens, challenge: .graphQL)])
    for harness in [fields, provider] {
      let seen = harness.subscribe()
      defer { seen.dispose() }
      let request = try harness.last.request
      #expect(
        try request.query("header")
          == ["host": "abc123.appsync-api.us-east-1.amazonaws.com", "Authorization": "to+ken/1??>>"])
      #expect(!request.headers.contains("Authorization"))
      #expect(!request.headers.contains("x-api-key"))
      #expect(request.url.query?.contains("+") == false)
    }
  }

  @Test(arguments: [
    (
      "https://a.appsync-api.eu-north-1.amazonaws.com/graphql",
      "wss://a.appsync-realtime-api.eu-north-1.amazonaws.com/graphql"
    ),
    (
      "https://a.appsync-api.cn-north-1.amazonaws.com.cn/graphql",
      "wss://a.appsync-realtime-api.cn-north-1.amazonaws.com.cn/graphql"
    ),
    ("https://api.example.com/graphql", "wss://api.example.com/graphql/realtime"),
  ])
  func `the address is that of the API, with another name or path`(api: String, expected: String) throws {
    let harness = try Harness(api)
    let seen = harness.subscribe()
    defer { seen.dispose() }
    let request = try harness.last.request
    #expect(request.url.absoluteString.hasPrefix("\(expected)?header="))
    #expect(try request.query("header")["host"]?.stringValue == URL(string: api)?.host)
  }

  @Test func `without a token and a key nothing is sent, and the error says what is missing`() throws {
    let harness = try Harness(fields: [:])
    let seen = harness.subscribe()
    #expect(seen.state.value.error?.kind == .invalidRequest)
    #expect(harness.sockets.attempts.isEmpty)
    #expect(seen.state.value.error?.message.contains("x-api-key") == true)
  }

  @Test
  func `an operation is sent as a string beside its credentials, and is connected once the server has confirmed it`()
    throws
  {
    let harness = try Harness()
    let seen = harness.subscribe()
    let attempt = try harness.last
    attempt.acknowledge(milliseconds: 300_000)
    harness.advance(0)
    let start = try #require(attempt.messages.first)
    #expect(start["type"] == "start")
    #expect(attempt.messages.count == 1)
    #expect(attempt.state.value.pings == 0)
    let data = try JSONValue(json: try #require(start["payload"]?["data"]?.stringValue))
    #expect(data["variables"] == ["start": 3, "delayMs": 0])
    #expect(data["query"]?.stringValue?.hasPrefix("subscription countdown") == true)
    #expect(
      start["payload"]?["extensions"]
        == ["authorization": ["host": "abc123.appsync-api.us-east-1.amazonaws.com", "x-api-key": "da2-key"]])
    #expect(seen.elements.isEmpty)
    let id = try #require(attempt.ids.first)
    attempt.send(#"{"type":"start_ack","id":"\#(id)"}"#)
    harness.advance(0)
    #expect(seen.elements == [.connected])
    attempt.next(id, 2)
    harness.advance(0)
    #expect(seen.elements == [.connected, .value(2)])
    seen.dispose()
    harness.advance(0)
    #expect(attempt.messages.last == ["type": "stop", "id": .string(id)])
  }

  @Test func `without a keep-alive within the time that the acknowledgement names, the connection is made again`()
    throws
  {
    let harness = try Harness()
    let (seen, attempt) = try harness.connected()
    harness.advance(299)
    attempt.send(#"{"type":"ka"}"#)
    harness.advance(299)
    #expect(!attempt.isDisposed)
    #expect(attempt.state.value.pings == 0)
    harness.advance(1)
    #expect(attempt.isDisposed)
    #expect(attempt.closeCode == 4499)
    harness.advance(1)
    let next = try harness.last
    #expect(next !== attempt)
    next.acknowledge(milliseconds: 10_000)
    next.send(#"{"type":"start_ack","id":"\#(next.ids[0])"}"#)
    harness.advance(9)
    #expect(seen.elements.last == .reconnected)
    #expect(!next.isDisposed)
    harness.advance(1)
    #expect(next.isDisposed)
  }

  @Test(arguments: [nil, 0, -1, Int.max])
  func `an acknowledgement without a usable time means five minutes`(milliseconds: Int?) throws {
    let harness = try Harness()
    let seen = harness.subscribe()
    defer { seen.dispose() }
    let attempt = try harness.last
    attempt.open()
    let payload = milliseconds.map { #","payload":{"connectionTimeoutMs":\#($0)}"# } ?? ""
    attempt.send(#"{"type":"connection_ack"\#(payload)}"#)
    harness.advance(299)
    #expect(!attempt.isDisposed)
    harness.advance(1)
    #expect(attempt.isDisposed)
  }

  @Test func `a connection carries 100 operations; there is another for more, and places are used again`() throws {
    let harness = try Harness()
    var all = (0..<101).map { _ in harness.subscribe() }
    #expect(harness.sockets.attempts.count == 2)
    for attempt in harness.sockets.attempts { attempt.acknowledge(milliseconds: 300_000) }
    #expect(harness.sockets.attempts.map(\.ids.count) == [100, 1])
    all[0].dispose()
    all.append(harness.subscribe())
    #expect(harness.sockets.attempts.map(\.ids.count) == [101, 1])
    all.append(harness.subscribe())
    #expect(harness.sockets.attempts.map(\.ids.count) == [101, 2])
  }

  @Test func `an operation whose message has more than 240 KiB fails alone`() throws {
    let harness = try Harness()
    let (sibling, attempt) = try harness.connected()
    // As a string in a string, each quote takes two bytes more.
    let body =
      "{\"query\":\"\(String(repeating: "x", count: 239 << 10))\",\"variables\":[\(String(repeating: "\"\",", count: 300))\"\"]}"
    #expect(body.utf8.count < 240 << 10)
    let request = try HTTPRequest(
      method: .post, url: harness.client.baseURL, body: Data(body.utf8), isReplayable: true)
    let seen = Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
    harness.advance(0)
    #expect(seen.state.value.error?.kind == .invalidRequest)
    #expect(attempt.ids.count == 1)
    #expect(!attempt.isDisposed)
    attempt.next(attempt.ids[0], 1)
    harness.advance(0)
    #expect(sibling.elements.last == .value(1))
    #expect(sibling.state.value.error == nil)
  }

  @Test func `an operation's errors end it alone, and have AppSync's types as codes`() throws {
    let harness = try Harness()
    let (seen, attempt) = try harness.connected()
    attempt.send(
      #"{"id":"\#(attempt.ids[0])","type":"error","payload":{"errors":[{"errorType":"MaxSubscriptionsReachedError"}]}}"#
    )
    harness.advance(0)
    #expect(seen.state.value.error?.graphQLErrors.map(\.code) == ["MaxSubscriptionsReachedError"])
    #expect(!attempt.isDisposed)
  }

  @Test func `a token that is rejected is refreshed once, and the new one is in the next address`() throws {
    let tokens = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let harness = try Harness(fields: [:], middlewares: [AuthMiddleware(tokens, challenge: .graphQL)])
    let seen = harness.subscribe()
    for token in ["old", "new"] {
      let attempt = try harness.last
      #expect(try attempt.request.query("header")["Authorization"] == .string(token))
      attempt.open()
      attempt.send(
        #"{"type":"connection_error","payload":{"errors":[{"errorType":"UnauthorizedException","errorCode":401}]}}"#)
      harness.advance(0)
    }
    #expect(harness.sockets.attempts.count == 2)
    #expect(seen.state.value.error?.graphQLErrors.first?.code == "UnauthorizedException")
  }
}

extension ScriptedSockets.Attempt {
  /// Accepts the connection, and says how long the server is silent at most.
  fileprivate func acknowledge(milliseconds: Int) {
    open()
    send(#"{"type":"connection_ack","payload":{"connectionTimeoutMs":\#(milliseconds)}}"#)
  }
}

extension WebSocketRequest {
  /// A member of the query, which is JSON in base64.
  fileprivate func query(_ name: String) throws -> JSONValue {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems
    let value = try #require(items?.first { $0.name == name }?.value)
    return try JSONValue(json: String(decoding: try #require(Data(base64Encoded: value)), as: UTF8.self))
  }
}
