import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

/// Alice's request through the standard stack to a server, while the account changes at each place where it waits.
@Suite("S2: a request is for the account under which it entered the stack", .timeLimit(.minutes(1)))
struct PinnedAccountTests {
  /// Where the account changes.
  enum Place: CaseIterable {
    case slot, token, limit, batch, hedge, retry, redirect, challenge, document, refusal

    /// Whether the account changes while the server has the request.
    var isAfterSending: Bool { [.retry, .redirect, .challenge, .document, .refusal].contains(self) }

    /// The response to the first request, after which another one would follow.
    var response: RawResponse {
      switch self {
      case .retry: RawResponse(503)
      case .redirect: RawResponse(307, headers: [("Location", "/elsewhere")])
      case .challenge: RawResponse(401)
      case .document: RawResponse(body: #"{"errors":[{"message":"PersistedQueryNotFound"}]}"#)
      case .refusal: RawResponse(429, headers: [("RateLimit", #""a";r=0;t=0.05"#)])
      default: PinnedAccountTests.ok
      }
    }
  }

  /// What the account changes to.
  enum Change: CaseIterable {
    case otherAccount, otherTokenWithoutAccount, signOut

    var alice: AccessToken {
      AccessToken("token-of-alice", account: self == .otherTokenWithoutAccount ? nil : "alice")
    }

    var next: AccessToken? {
      switch self {
      case .otherAccount: AccessToken("token-of-bob", account: "bob")
      case .otherTokenWithoutAccount: AccessToken("token-of-bob")
      case .signOut: nil
      }
    }
  }

  private struct Answer: Decodable, Sendable { let ok: Bool }

  /// A query whose document says who has made it.
  private struct OfAlice: GraphQLSession {
    typealias ResponseData = Answer
    static let query: GraphQLDocument = "query ofAlice { ok }"
  }

  private struct OfAnybody: GraphQLSession {
    typealias ResponseData = Answer
    static let query: GraphQLDocument = "query ofAnybody { ok }"
  }

  /// Tokens that a refresh brings when the test lets it.
  private final class Tokens: TokenProvider {
    let current: Locked<AccessToken?>
    let refreshed = PublishSubject<AccessToken>()

    init(_ token: AccessToken?) { current = Locked(token) }

    var currentToken: AccessToken? { current.withLock { $0 } }

    func refresh(replacing old: AccessToken?) -> Observable<AccessToken> { refreshed.asObservable() }
  }

  /// The end of a request.
  private final class Outcome: Sendable {
    private let result = ReplaySubject<Result<Bool, RequestError>>.create(bufferSize: 1)

    init<Query: GraphQLSession>(of query: Query, on client: APIClient) where Query.ResponseData == Answer {
      _ = query.post(on: client).subscribe(
        onNext: { [result] in result.onNext(.success($0.data.ok)) },
        onError: { [result] in result.onNext(.failure(RequestError(wrapping: $0))) })
    }

    var value: Result<Bool, RequestError> { get async throws { try await result.asObservable().value } }

    var error: RequestError? {
      get async throws { if case .failure(let error) = try await value { error } else { nil } }
    }
  }

  fileprivate static let ok = RawResponse(body: #"{"data":{"ok":true}}"#)

  private func errors(of outcomes: [Outcome]) async throws -> [RequestError?] {
    var errors: [RequestError?] = []
    for outcome in outcomes { errors.append(try await outcome.error) }
    return errors
  }

  private static func isOfAlice(_ request: ScriptedServer.Request) -> Bool {
    let text = String(decoding: request.body, as: UTF8.self)
    return text.contains("ofAlice") || text.contains(OfAlice.query.sha256)
  }

  @Test(arguments: Place.allCases, Change.allCases)
  func `S2: wherever a request waits, no other account's token goes out with it`(
    place: Place, change: Change
  ) async throws {
    let tokens = Tokens(change.alice)
    let held = Latch()
    // Where the request has been sent by then, the account changes while the server has it.
    let isFirst = Locked(true)
    let answer: @Sendable (ScriptedServer.Request) -> RawResponse = { request in
      guard Self.isOfAlice(request), isFirst.withLock({ exchange(&$0, with: false) }) else {
        let headers = place == .limit ? [("RateLimit", #""a";r=0;t=1"#)] : []
        return RawResponse(headers: headers, body: Self.ok.body)
      }
      if place.isAfterSending { tokens.current.withLock { $0 = change.next } }
      return place.response
    }
    let server = try ScriptedServer(
      [.forever([.readRequest] + (place == .slot || place == .hedge ? [.wait(for: held)] : []) + [.respond(answer)])])
    let scheduler = TestScheduler()
    let middlewares: [any HTTPMiddleware] =
      switch place {
      case .hedge: .standard(tokens: tokens, hedging: .fixed(.seconds(1)), scheduler: scheduler)
      case .limit: .standard(tokens: tokens, scheduler: scheduler)
      default: .standard(tokens: tokens, concurrency: place == .slot ? 1 : 64, redirects: 3)
      }
    var client = try APIClient(baseURL: server.url, middlewares: middlewares)
    if place == .document { client.graphQL.wire = .persistedQueries(byGET: false) }
    if place == .batch { client.graphQL.wire.batching = .within(.seconds(1), scheduler: scheduler) }

    var others: [Outcome] = []
    switch place {
    case .slot:
      others.append(Outcome(of: OfAnybody(), on: client))
      try await server.waitForRequests(1)
    case .token:
      let expired = AccessToken(change.alice.value, expiresAt: .distantPast, account: change.alice.account)
      tokens.current.withLock { $0 = expired }
    case .limit: _ = try await Outcome(of: OfAnybody(), on: client).value
    case .batch: others.append(Outcome(of: OfAlice(), on: client))
    default: break
    }
    let outcome = Outcome(of: OfAlice(), on: client)
    if place == .hedge { try await server.waitForRequests(1) }
    if !place.isAfterSending { tokens.current.withLock { $0 = change.next } }
    if place == .batch { others.append(Outcome(of: OfAnybody(), on: client)) }
    tokens.refreshed.onNext(AccessToken("new-token-of-alice", account: change.alice.account))
    tokens.refreshed.onCompleted()
    scheduler.advance(by: .seconds(2))
    held.open()

    let error = try await outcome.error
    switch place {
    case .slot, .token, .limit, .batch: #expect(error?.kind == .cancelled && error?.reached == .never)
    case .retry, .redirect, .document, .refusal: #expect(error?.kind == .cancelled && error?.reached == .maybe)
    case .challenge: #expect(error?.status == 401)
    case .hedge: #expect(error == nil)
    }
    let errors = try await errors(of: others)
    #expect(errors.map { $0?.kind } == (place == .batch ? [.cancelled, nil] : others.map { _ in nil }))
    let sent = server.requests.filter(Self.isOfAlice).map { $0["Authorization"] }
    #expect(sent == (place.isAfterSending || place == .hedge ? ["Bearer token-of-alice"] : []))
  }

  @Test func `S2: what a refresh brings continues a request, whether or not tokens name accounts`() async throws {
    for (old, new) in [
      (AccessToken("a1", account: "a"), AccessToken("a2", account: "a")), (AccessToken("a1"), AccessToken("a2")),
      (AccessToken("a1"), AccessToken("a2", account: "a")),
    ] {
      let server = try ScriptedServer(
        .answering { $0["Authorization"] == "Bearer a1" ? RawResponse(401) : Self.ok })
      let tokens = InMemoryTokenProvider(old) { _ in .just(new) }
      let client = try APIClient(baseURL: server.url, middlewares: .standard(tokens: tokens))
      #expect(try await OfAlice().post(on: client).value.data.ok)
      #expect(server.requests.map { $0["Authorization"] } == ["Bearer a1", "Bearer a2"])
    }
  }

  @Test func `S2: one client's refresh continues what another client of that provider repeats`() async throws {
    let held = Latch()
    let server = try ScriptedServer(
      [.readRequest, .wait(for: held), .send(RawResponse(503)), .close],
      .answering { $0["Authorization"] == "Bearer a1" ? RawResponse(401) : Self.ok })
    let tokens = InMemoryTokenProvider(AccessToken("a1")) { _ in .just(AccessToken("a2")) }
    let clients = try (0..<2).map { _ in try APIClient(baseURL: server.url, middlewares: .standard(tokens: tokens)) }
    let outcome = Outcome(of: OfAlice(), on: clients[0])
    try await server.waitForRequests(1)
    _ = try await OfAnybody().post(on: clients[1]).value
    held.open()
    #expect(try await outcome.error == nil)
    #expect(server.requests.filter(Self.isOfAlice).map { $0["Authorization"] } == ["Bearer a1", "Bearer a2"])
  }

  @Test func `S2: what nobody has asked for is not sent with the token of an account that signs in meanwhile`()
    async throws
  {
    let held = Latch()
    let server = try ScriptedServer([.forever([.readRequest, .wait(for: held), .send(Self.ok)])])
    let tokens = InMemoryTokenProvider { _ in .never() }
    let client = try APIClient(baseURL: server.url, middlewares: .standard(tokens: tokens, concurrency: 1))
    let other = Outcome(of: OfAnybody(), on: client)
    try await server.waitForRequests(1)
    let outcome = Outcome(of: OfAlice(), on: client)
    tokens.setToken(AccessToken("token-of-bob", account: "bob"))
    held.open()
    #expect(try await other.error == nil)
    let error = try await outcome.error
    #expect(error?.kind == .cancelled)
    #expect(error?.reached == .never)
    #expect(server.requests.count == 1)
  }
}
