import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import TestSupport
import Testing

@Suite("A server whose tokens expire")
struct ExpiringTokenTests {
  private static func client(_ server: BFFServer, _ tokens: some TokenProvider) throws -> APIClient {
    try APIClient(baseURL: server.graphqlURL, middlewares: [AuthMiddleware(tokens, challenge: .graphQL)])
  }

  private static func pings(_ count: Int, on client: APIClient) async -> [Result<Int?, RequestError>] {
    await withTaskGroup(of: Result<Int?, RequestError>.self) { group in
      for _ in 0..<count {
        group.addTask {
          do {
            return .success(try await Ping().post(on: client).value.data.getMomentsDetailsByUserID.moments.count)
          } catch {
            return .failure(RequestError(wrapping: error))
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test(arguments: ["http", "graphql"])
  func `R5: 100 concurrent requests under an expired token cause one refresh`(mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = try BFFTokens(url: server.graphqlURL, token: AccessToken("expired-token"))
    let results = await Self.pings(100, on: try Self.client(server, tokens))
    #expect(results.allSatisfy { (try? $0.get()) == 5 })
    let stats = try await server.stats()
    #expect(stats.operations["refreshToken"] == 1)
    // Each is sent under the old token at most once, and under the new one exactly once.
    #expect((100...200).contains(stats.operations["ping"] ?? 0))
  }

  @Test(arguments: ["http", "graphql"])
  func `tokens that live a second carry a stream of requests`(mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode, "--token-ttl-s", "1"])
    var client = try Self.client(server, BFFTokens(url: server.graphqlURL))
    // Above the tokens: who waits for a place takes none along that could expire meanwhile.
    client.middlewares.insert(ConcurrencyLimitMiddleware(4), at: 0)
    let clock = ContinuousClock()
    let start = clock.now
    var (rounds, refreshes, pings) = (0, 0, 0)
    while refreshes < 4, clock.now - start < .seconds(60) {
      let begin = clock.now
      let results = await Self.pings(100, on: client)
      let failures = results.filter { (try? $0.get()) != 5 }
      // On a busy machine, two tokens may expire while one request is on its way.
      #expect(failures.isEmpty || clock.now - begin > .seconds(1), "\(failures)")
      rounds += 1
      let operations = try await server.stats().operations
      (refreshes, pings) = (operations["refreshToken"] ?? 0, operations["ping"] ?? 0)
    }
    // One at the start; then each comes when three quarters of the one before are over, or later.
    #expect((4...1 + Int((clock.now - start) / .milliseconds(700))).contains(refreshes))
    #expect((100 * rounds...100 * rounds + 4 * refreshes).contains(pings))
  }

  @Test(arguments: ["http", "graphql"])
  func `a refresh that is refused fails all 100 once, and none hangs`(mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = try BFFTokens(
      url: server.graphqlURL, token: AccessToken("expired-token"), refreshToken: "used-refresh-token")
    let held = HeldTokens(tokens)
    async let pings = Self.pings(100, on: try Self.client(server, held))
    // One that is sent only after the refusal may try once more.
    try await eventually { try await server.stats().operations["ping"] == 100 }
    held.gate.onNext(())
    let results = try await pings
    #expect(results.count == 100)
    for result in results {
      guard case .failure(let error) = result else { throw RequestError(.unknown, "A request succeeded.") }
      #expect(error.graphQLErrors.map(\.code) == ["UNAUTHENTICATED"])
      #expect(error.operationName == "ping")
      #expect(!"\(error)".contains("used-refresh-token"))
    }
    #expect(try await server.stats().operations["refreshToken"] == 1)
  }
}

/// Refreshes tokens once a test lets it.
private final class HeldTokens: TokenProvider {
  let gate = ReplaySubject<Void>.create(bufferSize: 1)
  private let tokens: BFFTokens

  init(_ tokens: BFFTokens) { self.tokens = tokens }

  var currentToken: AccessToken? { tokens.currentToken }

  func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    gate.asObservable().take(1).flatMap { [tokens] in tokens.refresh(replacing: old) }
  }
}
