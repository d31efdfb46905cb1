import Dispatch
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
import SystemBase
import TestSupport
import Testing

/// Whose connection it is, and what a sign-out ends.
@Suite struct LiveAccountsTests {
  private static func provider(_ account: String?) -> InMemoryTokenProvider {
    InMemoryTokenProvider(AccessToken("alice", account: account)) { _ in .never() }
  }

  @Test(arguments: [nil, "alice"], [true, false])
  func `A2: a sign-out ends the account's subscriptions at once, over a WebSocket, and nothing is delivered after it`(
    account: String?, isBobNext: Bool
  ) throws {
    let provider = Self.provider(account)
    let harness = try SocketHarness(tokens: provider)
    let (seen, attempt) = try harness.connected()
    attempt.next(attempt.ids[0], 3)
    harness.settle()
    provider.setToken(nil)
    if isBobNext { provider.setToken(AccessToken("bob", account: account.map { _ in "bob" })) }
    attempt.next(attempt.ids[0], 2)
    harness.settle()
    #expect(seen.elements == [.connected, .value(3)])
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(seen.state.value.error?.operationName == "countdown")
    #expect(attempt.closeCode == 1000)
    #expect(attempt.isDisposed)
    #expect(attempt.messages.last?["type"] == "complete")
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  /// Clients have both as members.
  @Test func `S3: a secret in a URL or in what opens a WebSocket is in no description or dump`() throws {
    let shown = Monitor("")
    let harness = try SocketHarness(prepare: { opening in
      opening.url.append(queryItems: [URLQueryItem(name: "key", value: canary)])
      try opening.headers.set("X-Key", to: canary)
      opening.payload = .object(["key": .string(canary)])
      shown.update { $0 = everythingShown(of: opening) }
    })
    _ = try harness.connected()
    #expect(shown.value.contains("?key=…"))
    #expect(shown.value.contains("hasPayload: true"))
    #expect(!shown.value.contains(canary))
    var client = try APIClient(baseURL: url("http://127.0.0.1:1/graphql?key=\(canary)"))
    client.graphQL.live = .webSocket(try url("ws://127.0.0.1:1/?key=\(canary)"))
    #expect(everythingShown(of: client).contains("?key=…"))
    #expect(!everythingShown(of: client).contains(canary))
  }

  @Test(arguments: StreamLiveTests.Format.allCases, [nil, "alice"])
  func `A2: a sign-out ends streams at once`(format: StreamLiveTests.Format, account: String?) throws {
    let provider = Self.provider(account)
    let harness = try StreamLiveTests.Harness(format, tokens: provider)
    harness.transport.always(.any, format.response([3], isComplete: false).then(.never))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(1))
    provider.setToken(nil)
    harness.scheduler.advance(by: .zero)
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(harness.transport.cancellations == 1)
  }

  @Test(arguments: [.dropOldest(), .latest, .fail(values: 1), .fail()] as [LiveBuffering], [true, false])
  func `L5: what waits for an observer when its account signs out is not delivered, over a WebSocket`(
    buffering: LiveBuffering, isCompleted: Bool
  ) throws {
    let provider = Self.provider("alice")
    let harness = try SocketHarness(tokens: provider)
    var countdown = Countdown(9)
    countdown.buffering = buffering
    let seen = Seen(countdown.subscribe(on: harness.client).map { event in event.map(\.data.countdown) }) { event in
      if event.value != nil { provider.setToken(nil) }
    }
    harness.settle()
    let attempt = try harness.last
    attempt.acknowledge()
    attempt.pong()
    harness.settle()
    for number in 1...3 { attempt.next(attempt.ids[0], number) }
    if isCompleted { attempt.complete(attempt.ids[0]) }
    harness.settle()
    #expect(seen.elements.count { $0.value != nil } == 1)
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(seen.state.value.error?.operationName == "countdown")
    #expect(attempt.closeCode == 1000)
  }

  @Test(arguments: StreamLiveTests.Format.allCases, [.dropOldest(), .suspend] as [LiveBuffering])
  func `L5: what waits for an observer when its account signs out is not delivered, over streams`(
    format: StreamLiveTests.Format, buffering: LiveBuffering
  ) throws {
    let provider = Self.provider("alice")
    let harness = try StreamLiveTests.Harness(format, tokens: provider)
    harness.transport.always(.any, format.response([3, 2, 1]))
    var countdown = Countdown(3)
    countdown.buffering = buffering
    let seen = Seen(countdown.subscribe(on: harness.client).map { event in event.map(\.data.countdown) }) { event in
      if event.value != nil { provider.setToken(nil) }
    }
    harness.scheduler.advance(by: .seconds(1))
    #expect(seen.elements == [.connected, .value(3)])
    #expect(seen.state.value.error?.kind == .cancelled)
  }

  @Test(arguments: LiveWay.allCases)
  func `L5: an observer that blocks while its account signs out gets no other event`(way: LiveWay) async throws {
    let provider = Self.provider("alice")
    var client = try way.client(await BFFServer.shared().graphqlURL)
    client.middlewares = [AuthMiddleware(provider, challenge: .graphQL)]
    let (gate, isOut) = (DispatchSemaphore(value: 0), Locked(false))
    let (late, hasBlocked) = (Locked(0), Locked(false))
    let seen = Seen(Countdown(2_000).subscribe(on: client)) { event in
      if isOut.withLock({ $0 }) { late.withLock { $0 += 1 } }
      // Whichever comes first: on a busy machine, older ones may have been dropped.
      if event.value != nil, !hasBlocked.withLock({ exchange(&$0, with: true) }) { gate.wait() }
    }
    try await seen.state.wait { $0.elements.contains { $0.value != nil } }
    let other = Seen(Countdown(2_000).data(on: client))
    try await other.state.wait { $0.isEnded }
    provider.setToken(nil)
    isOut.withLock { $0 = true }
    gate.signal()
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.error?.kind == .cancelled)
    #expect(end.elements.count { $0.value != nil } == 1)
    #expect(late.withLock { $0 } == 0)
  }

  @Test(arguments: [true, false])
  func `A2: a sign-out while a connection is made, or waits for its next attempt, ends the subscription`(
    isDialling: Bool
  ) throws {
    let provider = Self.provider("alice")
    let harness = try SocketHarness(tokens: provider)
    let seen = harness.subscribe()
    if !isDialling { try harness.last.fail(RequestError(.cannotConnect, "Refused.")) }
    provider.setToken(AccessToken("bob", account: "bob"))
    harness.settle()
    #expect(seen.state.value.error?.kind == .cancelled)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test func `A2: a provider that does not say so has signed out by the next value`() throws {
    let provider = SilentProvider(AccessToken("alice", account: "alice"))
    let harness = try SocketHarness(tokens: provider)
    let (seen, attempt) = try harness.connected()
    provider.token.withLock { $0 = nil }
    attempt.next(attempt.ids[0], 3)
    harness.settle()
    #expect(seen.elements == [.connected])
    #expect(seen.state.value.error?.kind == .cancelled)
  }

  @Test func `S2: a subscription whose token names no account is not continued with the token of another sign-in`()
    throws
  {
    let provider = Self.provider(nil)
    let harness = try SocketHarness(tokens: provider)
    let (seen, attempt) = try harness.connected()
    provider.setToken(AccessToken("bob"))
    attempt.next(attempt.ids[0], 2)
    attempt.close(1012)
    harness.advance(600)
    #expect(seen.elements == [.connected])
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test func `S2: a connection that is made for a token without an account does not take that of another sign-in`()
    throws
  {
    let provider = SilentProvider(AccessToken("alice"))
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    provider.token.withLock { $0 = AccessToken("bob") }
    first.close(1012)
    harness.advance(600)
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(harness.sockets.attempts.map { $0.request.headers["Authorization"] } == ["Bearer alice"])
  }

  @Test func `S2: a refresh that a provider reports before it ends, and without a name, ends no subscription`() throws {
    let provider = SilentProvider(AccessToken("alice"))
    let brought = ReplaySubject<AccessToken>.create(bufferSize: 1)
    provider.refreshed.withLock { $0 = brought.asObservable().take(1) }
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    first.close(4401)
    harness.settle()
    provider.token.withLock { $0 = AccessToken("alice2") }
    provider.reported.onNext(AccessToken("alice2"))
    harness.settle()
    #expect(seen.state.value.error == nil)
    brought.onNext(AccessToken("alice2"))
    harness.settle()
    #expect(try harness.last.request.headers["Authorization"] == "Bearer alice2")
    #expect(seen.state.value.error == nil)
    seen.dispose()
  }

  @Test(arguments: StreamLiveTests.Format.allCases)
  func `L5: a sign-out ends a stream whose token came only after the server had asked for one`(
    format: StreamLiveTests.Format
  ) throws {
    let provider = InMemoryTokenProvider { _ in .just(AccessToken("alice", account: "alice")) }
    let harness = try StreamLiveTests.Harness(format, tokens: provider)
    harness.transport.expect(.any, .response(status: 401))
    harness.transport.always(.any, format.response([3], isComplete: false).then(.never))
    let seen = harness.subscribe()
    harness.scheduler.advance(by: .seconds(1))
    #expect(harness.transport.requests.map { $0.headers["Authorization"] } == [nil, "Bearer alice"])
    provider.setToken(nil)
    harness.scheduler.advance(by: .zero)
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(harness.transport.cancellations == 1)
  }

  @Test func `S2: nobody travels on a socket that began as nobody's and has since taken a token`() throws {
    let provider = SilentProvider(nil)
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    provider.token.withLock { $0 = AccessToken("alice", account: "alice") }
    first.close(1012)
    harness.advanceToNextAttempt()
    try harness.last.acknowledge()
    try harness.last.pong()
    harness.settle()
    provider.token.withLock { $0 = nil }
    let nobody = harness.subscribe()
    harness.settle()
    let tokens = harness.sockets.attempts.map { $0.request.headers["Authorization"] }
    #expect(tokens == [nil, "Bearer alice", nil])
    #expect(seen.state.value.error?.kind == .cancelled)
    #expect(nobody.state.value.error == nil)
    nobody.dispose()
  }

  @Test(arguments: [true, false])
  func `a default field of the client takes the place of the token's, as in requests`(isSocket: Bool) throws {
    let provider = Self.provider("alice")
    var values: [String]
    if isSocket {
      var harness = try SocketHarness(tokens: provider)
      harness.client.defaultHeaders = ["Authorization": "Basic own"]
      let seen = harness.subscribe()
      values = try harness.last.request.headers.values(of: "Authorization")
      seen.dispose()
    } else {
      var harness = try StreamLiveTests.Harness(.eventStream, tokens: provider)
      harness.client.defaultHeaders = ["Authorization": "Basic own"]
      harness.transport.always(.any, StreamLiveTests.Format.eventStream.response([1]))
      _ = harness.run()
      values = harness.transport.requests.first?.headers.values(of: "Authorization") ?? []
    }
    #expect(values == ["Basic own"])
  }

  @Test(arguments: [nil, "alice"])
  func `A2: who signs in again has a new connection`(account: String?) throws {
    let provider = Self.provider(account)
    let harness = try SocketHarness(tokens: provider)
    for count in 1...3 {
      let (seen, _) = try harness.connected()
      #expect(harness.sockets.attempts.count == count)
      provider.setToken(nil)
      harness.settle()
      #expect(seen.state.value.error?.kind == .cancelled)
      provider.setToken(AccessToken("alice", account: account))
    }
  }

  @Test
  func `A2: users whose tokens have no account do not travel on each other's socket, and nobody on that of somebody`()
    throws
  {
    let provider = Self.provider(nil)
    let harness = try SocketHarness(tokens: provider)
    let (alice, _) = try harness.connected()
    alice.dispose()
    harness.settle()
    provider.setToken(nil)
    let nobody = harness.subscribe()
    provider.setToken(AccessToken("bob"))
    let bob = harness.subscribe()
    let tokens = harness.sockets.attempts.map { $0.request.headers["Authorization"] }
    #expect(tokens == ["Bearer alice", nil, "Bearer bob"])
    nobody.dispose()
    bob.dispose()
  }

  @Test(arguments: [nil, "alice"])
  func `a refresh of a token ends no subscription, named or not`(account: String?) throws {
    let provider = InMemoryTokenProvider(AccessToken("alice", account: account)) { _ in
      .just(AccessToken("alice2", account: account))
    }
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    first.close(4401)
    harness.settle()
    try harness.last.acknowledge()
    try harness.last.pong()
    harness.settle()
    #expect(seen.elements.last == .reconnected)
    #expect(seen.state.value.error == nil)
    // Of a named account, all share the socket.
    let other = harness.subscribe()
    #expect(harness.sockets.attempts.count == (account == nil ? 3 : 2))
    other.dispose()
  }

  @Test func `a client with another transport, or that allows clear text, has a connection of its own`() throws {
    final class Transport: HTTPTransport, WebSocketTransport {
      let sockets = ScriptedSockets()
      func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { .never() }
      func connect(_ request: WebSocketRequest) -> Observable<WebSocketEvent> { sockets.connect(request) }
    }
    let scheduler = TestScheduler()
    let live = WebSocketLiveTransport.webSocket(scheduler: scheduler)
    let (first, second) = (Transport(), Transport())
    var all: [Seen<LiveEvent<GraphQLResponse<Countdown.ResponseData>>>] = []
    for (transport, clearText) in [(first, false), (first, false), (second, false), (second, true)] {
      var client = try APIClient(
        baseURL: url("http://127.0.0.1/graphql"), transport: transport, allowsCleartext: clearText)
      client.graphQL.live = live
      all.append(Seen(Countdown(3).subscribe(on: client)))
      scheduler.advance(by: .zero)
    }
    #expect(first.sockets.attempts.count == 1)
    #expect(second.sockets.attempts.count == 2)
    for seen in all { seen.dispose() }
  }
}

/// Does not say when its token changes, unless a test does.
private final class SilentProvider: TokenProvider {
  let token: Locked<AccessToken?>
  let refreshed = Locked<Observable<AccessToken>>(.never())
  let reported = PublishSubject<AccessToken?>()

  init(_ token: AccessToken?) {
    self.token = Locked(token)
  }

  var currentToken: AccessToken? { token.withLock { $0 } }
  var changes: Observable<AccessToken?> { reported.asObservable() }
  func refresh(replacing old: AccessToken?) -> Observable<AccessToken> { refreshed.withLock { $0 } }
}
