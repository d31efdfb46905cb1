import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@Suite("Tokens")
struct AuthMiddlewareTests {
  static let epoch = Date(timeIntervalSince1970: 1_000_000)
  let tokens: TestTokens
  let harness: MiddlewareHarness

  init() {
    self.init(token: AccessToken("t1"))
  }

  private init(token: AccessToken?) {
    let tokens = TestTokens(token)
    self.tokens = tokens
    harness = MiddlewareHarness { scheduler in
      [AuthMiddleware(tokens, scheduler: scheduler) { Self.epoch + scheduler.now / .seconds(1) }]
    }
    for value in ["t2", "t3"] { harness.transport.always(Self.sent(value), .response()) }
    harness.transport.always(Self.sent("t1"), .response(status: 401))
  }

  static func sent(_ token: String) -> RequestMatcher {
    RequestMatcher("with \(token)") { $0.headers["Authorization"] == "Bearer \(token)" }
  }

  var sent: [String] {
    harness.transport.requests.map { $0.headers["Authorization"].map { String($0.dropFirst(7)) } ?? "-" }
  }

  func start(isReplayable: Bool = true) throws -> Outcome {
    try harness.start(MiddlewareHarness.request(isReplayable: isReplayable))
  }

  @Test func `a good token is sent, and nothing is refreshed`() throws {
    tokens.tokens.setToken(AccessToken("t2"))
    #expect(try start().status == 200)
    #expect(sent == ["t2"])
    #expect(tokens.refreshCount == 0)
  }

  @Test(arguments: ["a\r\nX: y", "a\0b", "a\u{85}"])
  func `a new token that no header can hold fails the refresh, and is not kept`(value: String) throws {
    let tokens = InMemoryTokenProvider(AccessToken("t1")) { _ in .just(AccessToken(value)) }
    for provider in [tokens, self.tokens] as [any TokenProvider] {
      var harness = harness
      harness.middlewares = [AuthMiddleware(provider, scheduler: harness.scheduler)]
      let outcome = try harness.start(MiddlewareHarness.request())
      if provider is TestTokens { self.tokens.succeed(0, with: AccessToken(value)) }
      #expect(outcome.error?.kind == .undecodable)
      #expect(outcome.error?.status == nil)
      #expect(outcome.error?.message.contains("The token could not be refreshed: ") == true)
      #expect(provider.currentToken == AccessToken("t1"))
    }
  }

  @Test func `R5: 100 simultaneous 401s cause one refresh, and each request is resent once`() throws {
    let outcomes = try (0..<100).map { try start(isReplayable: $0 % 2 == 0) }
    #expect(tokens.refreshCount == 1)
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(tokens.refreshCount == 1)
    #expect(sent == Array(repeating: "t1", count: 100) + Array(repeating: "t2", count: 100))
  }

  @Test func `R5: a refresh that fails fails all requests that wait with one error, and does not affect the next`()
    throws
  {
    let outcomes = try (0..<100).map { _ in try start() }
    tokens.fail(RequestError(.connectionLost, "gone", status: 503))
    #expect(outcomes.allSatisfy { $0.error?.kind == .connectionLost && $0.error?.status == 503 })
    #expect(outcomes.allSatisfy { $0.error?.message == "The token could not be refreshed: gone" })
    #expect(tokens.refreshCount == 1)
    let next = try start()
    #expect(tokens.refreshCount == 2)
    tokens.succeed(with: AccessToken("t2"))
    #expect(next.status == 200)
  }

  @Test(arguments: [
    RequestError(.httpStatus, "invalid_grant", status: 400), RequestError(.badResponse, ""),
    RequestError(.unknown, "No such key in the keychain."), RequestError(.httpStatus, "", status: 503),
    RequestError(.cannotConnect, ""), RequestError(.circuitOpen, ""),
  ])
  func `a refresh that fails keeps the status that it had`(error: RequestError) throws {
    let outcome = try start()
    tokens.fail(error)
    #expect(outcome.error?.kind == error.kind)
    #expect(outcome.error?.status == error.status)
  }

  @Test func `R5: a refresh that never responds fails all requests that wait`() throws {
    let outcomes = try (0..<10).map { _ in try start() }
    harness.scheduler.run()
    #expect(outcomes.allSatisfy { $0.error?.kind == .timedOut })
    #expect(harness.scheduler.now == .seconds(30))
  }

  @Test func `a refresh that gives nothing is a failure`() throws {
    let outcome = try start()
    tokens.complete()
    #expect(outcome.error != nil)
  }

  @Test func `a late response under an old token starts no other refresh`() throws {
    harness.transport.expect(.any, .response(status: 401).after(.seconds(5)))
    let late = try start()
    let first = try start()
    tokens.succeed(with: AccessToken("t2"))
    #expect(first.status == 200)
    #expect(late.result == nil)
    harness.scheduler.run()
    #expect(late.status == 200)
    #expect(tokens.refreshCount == 1)
    #expect(sent == ["t1", "t1", "t2", "t2"])
  }

  @Test func `a late 401 of a request from before a failed refresh fails with the refresh's error`() throws {
    harness.transport.expect(.any, .response(status: 401).after(.seconds(5)))
    let late = try start()
    let first = try start()
    tokens.fail(RequestError(.timedOut, "…"))
    #expect(first.error?.kind == .timedOut)
    harness.scheduler.run()
    #expect(late.error?.kind == .timedOut)
    #expect(tokens.refreshCount == 1)
  }

  @Test func `a late 401 joins the current refresh, whatever its token`() throws {
    harness.transport.expect(.any, .response(status: 401).after(.seconds(5)))
    let late = try start()
    _ = try start()
    tokens.succeed(with: AccessToken("t2"))
    harness.transport.always(Self.sent("t2"), .response(status: 401))
    let second = try start()
    #expect(tokens.refreshCount == 2)
    harness.scheduler.advance(by: .seconds(5))
    #expect(late.result == nil)
    tokens.succeed(with: AccessToken("t3"))
    #expect(late.status == 200)
    #expect(second.status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `a request that is refused under the new token, too, is not sent a third time`() throws {
    harness.transport.always(Self.sent("t2"), .response(status: 401, body: Data("still".utf8)))
    let outcome = try start()
    tokens.succeed(with: AccessToken("t2"))
    #expect(try outcome.result?.get().body == Data("still".utf8))
    #expect(sent == ["t1", "t2"])
    #expect(tokens.refreshCount == 1)
  }

  @Test func `the first challenge fetches a token where there is none`() throws {
    tokens.tokens.setToken(nil)
    harness.transport.expect(.any, .response(status: 401))
    let outcome = try start()
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcome.status == 200)
    #expect(sent == ["-", "t2"])
  }

  @Test func `a request with a field of its own is left alone`() throws {
    var request = try MiddlewareHarness.request()
    try request.headers.set("authorization", to: "Bearer t1")
    #expect(try harness.finish(request).get().head.status == 401)
    #expect(sent == ["t1"])
    #expect(tokens.refreshCount == 0)
  }

  @Test func `a request with a field of its own waits for no token`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch))
    var request = try MiddlewareHarness.request()
    try request.headers.set("Authorization", to: "Bearer t2")
    #expect(harness.start(request).status == 200)
    #expect(sent == ["t2"])
    #expect(tokens.refreshCount == 0)
  }

  @Test func `a request with a field of its own is left alone, also where there is no token`() throws {
    tokens.tokens.setToken(nil)
    harness.transport.always(.any, .response(status: 401, body: Data("wrong password".utf8)))
    var request = try MiddlewareHarness.request()
    try request.headers.set("Authorization", to: "Basic eDp5")
    #expect(try harness.start(request).result?.get().body == Data("wrong password".utf8))
    #expect(tokens.refreshCount == 0)
  }

  @Test func `a token is sent in the field that was chosen`() throws {
    let harness = MiddlewareHarness {
      [AuthMiddleware(tokens, fieldName: "X-API-Key", fieldValue: { "key-\($0.value)" }, scheduler: $0)]
    }
    harness.transport.always(.any, .response())
    var own = try MiddlewareHarness.request()
    try own.headers.set("x-api-key", to: "mine")
    for request in try [MiddlewareHarness.request(), own] { _ = harness.start(request) }
    #expect(harness.transport.requests.map { $0.headers["X-API-Key"] } == ["key-t1", "mine"])
    #expect(harness.transport.requests.allSatisfy { !$0.headers.contains("Authorization") })
  }

  @Test func `a request that is cancelled does not stop the refresh for the others`() throws {
    let first = try start()
    let second = try start()
    first.dispose()
    tokens.succeed(with: AccessToken("t2"))
    #expect(first.result == nil)
    #expect(second.status == 200)
  }

  @Test func `time spent waiting is taken off the deadline`() throws {
    let outcome = try harness.start(MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(10))))
    harness.scheduler.advance(by: .seconds(4))
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcome.status == 200)
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(10), .seconds(6)])
  }

  /// Notes whether a task does the work, and rejects all tokens but one.
  private struct NotingTransport: HTTPTransport {
    let isOnTask: Locked<[Bool]>

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      .deferred {
        isOnTask.withLock { $0.append(TaskMailbox.current != nil) }
        let isGood = request.headers["Authorization"] == "Bearer t2"
        return .just(.head(HTTPResponseHead(status: isGood ? 200 : 401)))
      }
    }
  }

  @Test func `a refresh, and the requests that it releases, do not run on the task that needs it first`() throws {
    let isOnTask = Locked<[Bool]>([])
    let answer = PublishSubject<AccessToken>()
    let tokens = InMemoryTokenProvider(AccessToken("t1")) { _ in
      isOnTask.withLock { $0.append(TaskMailbox.current != nil) }
      return answer.asObservable()
    }
    let exchange = try NotingTransport(isOnTask: isOnTask).send(
      MiddlewareHarness.request(), through: [AuthMiddleware(tokens)])
    let subscriptions = TaskMailbox.$current.withValue(TaskMailbox()) { [exchange.subscribe(), exchange.subscribe()] }
    answer.onNext(AccessToken("t2"))
    #expect(isOnTask.withLock { $0 } == [true, false, true, false, false])
    for subscription in subscriptions { subscription.dispose() }
  }

  @Test func `a token that no header can carry fails the request, and is not in the error`() throws {
    tokens.tokens.setToken(AccessToken("canary\r\nX: y"))
    let error = try #require(try start().error)
    #expect(error.kind == .invalidRequest)
    #expect(!"\(error)".contains("canary"))
  }

  @Test func `no text of a token shows its value`() {
    let token = AccessToken("canary")
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!"\(token) \(String(reflecting: token)) \(dumped)".contains("canary"))
  }
}
