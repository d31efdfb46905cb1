import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Counts what it hears, and keeps all of it as text.
private final class Ears: RequestObserver {
  let text = Mutex("")
  let ends = Mutex<[RequestSummary]>([])

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    { event in
      self.text.withLock { text in
        text += "\(event)\n"
        dump(event, to: &text)
      }
      if case .ended(let summary) = event { self.ends.withLock { $0.append(summary) } }
    }
  }
}

@Suite("The standard stack")
struct StandardStackTests {
  private struct Mutate: GraphQLSession {
    struct Variables: Encodable, Sendable {
      var number = 0
    }
    struct ResponseData: Decodable, Sendable {
      let ok: Bool
    }
    static let query: GraphQLDocument = "mutation mutate($number: Int!) { ok(number: $number) }"
    var variables = Variables()
  }

  /// All that a server may do wrong, and what asks for another attempt.
  private static let faults =
    ScriptedServer.Fault.all + [
      .init("503", [.send(RawResponse(503, headers: [("Retry-After", "0")])), .close]),
      .init("429", [.send(RawResponse(429)), .close]), .init("500", [.send(RawResponse(500)), .close]),
      .init("307", [.send(RawResponse(307, headers: [("Location", "/")])), .close]),
    ]

  /// Runs at once what has been put off.
  private struct Hasty: Scheduler {
    let now = Duration.zero

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
      action()
      return Disposables.create()
    }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      schedule(action)
    }
  }

  @Test func `the standard stack has its parts, in their order`() {
    let tokens = InMemoryTokenProvider(AccessToken("a-token")) { _ in .just(AccessToken("b-token")) }
    let names = [any HTTPMiddleware].standard(tokens: tokens).map { "\(type(of: $0))" }
    #expect(
      names == [
        "DeadlineMiddleware", "RetryMiddleware", "RateLimitMiddleware", "ConcurrencyLimitMiddleware", "AuthMiddleware",
        "CircuitBreakerMiddleware",
      ])
    #expect([any HTTPMiddleware].standard().map { "\(type(of: $0))" } == names.filter { $0 != "AuthMiddleware" })
    let other = [any HTTPMiddleware].standard(
      cache: MemoryCacheStorage(), retries: 0, rateLimits: nil, hedging: .fixed(.seconds(1)), redirects: 5)
    #expect(
      other.map { "\(type(of: $0))" } == [
        "DeadlineMiddleware", "CacheMiddleware", "HedgingMiddleware", "ConcurrencyLimitMiddleware",
        "RedirectMiddleware",
        "CircuitBreakerMiddleware",
      ])
  }

  @Test func `retries and hedges share a budget`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .response(status: 503))
    let budget = RetryBudget(retriesPerRequest: 0, reserve: 3)
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: .standard(retries: 5, budget: budget, hedging: .fixed(.zero), scheduler: Hasty()),
      timeouts: HTTPTimeouts(total: nil))
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(transport.requests.count == 1 + 3)
  }

  @Test func `clients of several users share circuits, and each has tokens of its own`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .response(status: 503))
    let circuit = CircuitBreakerPolicy(failureRate: 0.5, minimumCalls: 1)
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: .standard(retries: 0, circuit: circuit))
    let clients = ["a", "b"].map { name in
      var client = client
      let tokens = InMemoryTokenProvider(AccessToken("\(name)-token")) { _ in .just(AccessToken("\(name)-new")) }
      client.middlewares = client.middlewares.authenticating(by: AuthMiddleware(tokens, challenge: .graphQL))
      return client
    }
    #expect(await Ping().post(on: clients[0]).failure?.status == 503)
    #expect(await Ping().post(on: clients[1]).failure?.kind == .circuitOpen)
    #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer a-token"])
    let none = AuthMiddleware(InMemoryTokenProvider(nil) { _ in .empty() })
    let types = clients[0].middlewares.authenticating(by: none).map { "\(type(of: $0))" }
    #expect(types.filter { $0 == "AuthMiddleware" }.count == 1)
    #expect(types.last == "CircuitBreakerMiddleware")
    #expect([any HTTPMiddleware]().authenticating(by: none).count == 1)
  }

  @Test(arguments: [(200, #"{"code": 40101}"#), (401, "40101"), (401, "")])
  func `a challenge of one's own is known by the standard stack, beside another`(
    status: Int, body: String
  ) async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json(body, status: status))
    transport.expect(.any, .json(#"{"data": {"getMomentsDetailsByUserID": {"moments": []}}}"#))
    let tokens = InMemoryTokenProvider(AccessToken("a-token")) { _ in .just(AccessToken("b-token")) }
    let expired = AuthenticationChallenge(
      isPossible: { $0.status == 200 }, isMet: { String(decoding: $0.body, as: UTF8.self).contains("40101") })
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: .standard(tokens: tokens, challenge: .http.or(expired)))
    _ = try await Ping().post(on: client).value
    #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer a-token", "Bearer b-token"])
  }

  @Test func `each of two challenges judges only the responses to its own requests`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"data": {"getMomentsDetailsByUserID": {"moments": []}}}"#))
    let forbidden = AuthenticationChallenge(isPossible: { $0.status == 403 }, isMet: { _ in true })
    let never = AuthenticationChallenge(isPossible: { $0.status == 200 }, isMet: { _ in false })
    let tokens = InMemoryTokenProvider(AccessToken("a-token")) { _ in .just(AccessToken("b-token")) }
    for challenge in [forbidden.or(never), never.or(forbidden)] {
      let client = try APIClient(
        baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
        middlewares: [AuthMiddleware(tokens, challenge: challenge)])
      _ = try await Ping().post(on: client).value
    }
    #expect(transport.requests.count == 2)
  }

  /// Asks a second server where the first one fails.
  private struct Failover: HTTPMiddleware {
    let replica: URL

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      next(request).catch { _ in next(try request.to(replica)) }
    }
  }

  @Test func `S3: a redirected request is the same request to what counts, logs and redacts`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .failure(RequestError(.connectionLost, "'canary-password' is wrong")))
    let logged = Mutex("")
    let ears = Ears()
    let log = LoggingMiddleware(detail: .headers) { line in logged.withLock { $0 += line + "\n" } }
    let replica = try #require(URL(string: "http://127.0.0.2/replica"))
    var client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: [Failover(replica: replica), log])
    client.observer = ears
    await #expect(throws: RequestError.self) {
      _ = try await LogIn(variables: .init(password: "canary-password")).post(on: client).value
    }
    #expect(transport.requests.map(\.url.host) == ["127.0.0.1", "127.0.0.2"])
    #expect(ears.ends.withLock { $0.map(\.attemptCount) } == [2])
    for text in [logged.withLock { $0 }, ears.text.withLock { $0 }] {
      #expect(text.contains("'<redacted>' is wrong"))
      #expect(!text.contains("canary"))
    }
  }

  @Test func `R2: unless set a query is sent three times, and no more`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .response(status: 503))
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: .standard(scheduler: Hasty()), timeouts: HTTPTimeouts(total: nil))
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(transport.requests.count == 3)
  }

  @Test(arguments: 0..<10)
  func `R1: no sequence of faults sends a mutation twice`(seed: Int) async throws {
    let order = (0..<20).map { Self.faults[($0 * 7 + seed * 13 + $0 * $0 * seed) % Self.faults.count] }
    let server = try ScriptedServer { number in order[number % order.count].script }
    let tokens = InMemoryTokenProvider(AccessToken("a-token")) { _ in .just(AccessToken("b-token")) }
    let client = try APIClient(
      baseURL: server.url, middlewares: .standard(tokens: tokens, retries: 5),
      timeouts: HTTPTimeouts(total: .milliseconds(500)))
    for number in 0..<10 {
      _ = try? await Mutate(variables: .init(number: number)).post(on: client).value
    }
    let sent = Dictionary(grouping: server.requests, by: \.body).mapValues(\.count)
    // One may be lost on a kept connection that its server is just closing; most are not.
    #expect(sent.values.allSatisfy { $0 == 1 }, "\(order)")
    #expect(sent.count > 5, "\(order)")
  }

  @Test func `R1: a challenge, and nothing else, sends it once more`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(401) })
    let tokens = InMemoryTokenProvider(AccessToken("a-token")) { _ in .just(AccessToken("b-token")) }
    let client = try APIClient(baseURL: server.url, middlewares: .standard(tokens: tokens, retries: 5))
    await #expect(throws: RequestError.self) { _ = try await Mutate().post(on: client).value }
    #expect(server.requests.map { $0["Authorization"] } == ["Bearer a-token", "Bearer b-token"])
  }

  @Test func `a query succeeds through faults within its deadline, and the observer is notified`() async throws {
    let faults: [ScriptedServer.Fault] = [.closedBeforeHeaders, .resetInBody]
    let server = try ScriptedServer { number in
      number < faults.count
        ? faults[number].script
        : .answering { _ in
          RawResponse(body: #"{"data":{"getMomentsDetailsByUserID":{"moments":[{"id":"m"}]}}}"#)
        }
    }
    let ears = Ears()
    var client = try APIClient(baseURL: server.url, middlewares: .standard())
    client.observer = ears
    let response = try await Ping().post(on: client).value
    #expect(response.data.getMomentsDetailsByUserID.moments.count == 1)
    let end = try #require(ears.ends.withLock { $0.first })
    #expect(end.attemptCount == 3)
    #expect(end.status == 200)
    #expect(end.outcome.label == "succeeded")
    #expect(server.requests.count == 3)
    #expect(server.requests.allSatisfy { $0["traceparent"] == nil })
  }

  @Test func `the observer is notified that a response could not be read`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{") })
    let ears = Ears()
    var client = try APIClient(baseURL: server.url)
    client.observer = ears
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(ears.ends.withLock { $0.map(\.outcome.label) } == ["not decodable"])
  }

  private struct LogIn: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let password: String
    }
    typealias ResponseData = JSONValue
    static let query: GraphQLDocument = "mutation logIn($password: String!) { logIn(password: $password) }"
    let variables: Variables
    var secrets: [String] { [variables.password] }
  }

  @Test func `S3: a session's secrets are in no event and no error`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"errors":[{"message":"'canary-password' is wrong"}]}"#))
    let ears = Ears()
    var client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport)
    client.observer = ears
    do {
      _ = try await LogIn(variables: .init(password: "canary-password")).post(on: client).value
    } catch {
      var text = "\(error)"
      dump(error, to: &text)
      #expect(text.contains("'<redacted>' is wrong"))
      #expect(!text.contains("canary"))
    }
    #expect(ears.text.withLock { $0.contains("'<redacted>' is wrong") && !$0.contains("canary") })
  }

  @Test(arguments: [200, 401, 429, 500], ["a", nil])
  func `S3: a token is in no event, log, error or dump`(status: Int, account: String?) async throws {
    let server = try ScriptedServer(
      .answering { request in
        let echo = request["Authorization"] ?? ""
        return RawResponse(
          status, headers: [("X-Echo", echo), ("WWW-Authenticate", echo)],
          body: #"{"data":null,"errors":[{"message":"\#(echo)","extensions":{"code":"UNAUTHENTICATED"}}]}"#)
      })
    let ears = Ears()
    let logged = Mutex("")
    let log = LoggingMiddleware(detail: .headers) { line in logged.withLock { $0 += line + "\n" } }
    let tokens = InMemoryTokenProvider(AccessToken("canary-token-1", account: account)) { _ in
      .just(AccessToken("canary-token-2", account: account))
    }
    var client = try APIClient(
      baseURL: server.url, middlewares: [log] + .standard(tokens: tokens, retries: 1) + [log])
    client.observer = ears
    var text = ""
    do {
      _ = try await Ping().post(on: client).value
    } catch {
      text = "\(error) \(String(reflecting: error)) \(error.localizedDescription)"
      dump(error, to: &text)
    }
    dump(client, to: &text)
    #expect(server.requests.last?["Authorization"]?.hasPrefix("Bearer canary-token") == true)
    #expect(text.contains(Redactor.placeholder))
    for text in [text, logged.withLock { $0 }, ears.text.withLock { $0 }] {
      #expect(!text.isEmpty)
      #expect(!text.contains("canary"))
    }
  }
}
