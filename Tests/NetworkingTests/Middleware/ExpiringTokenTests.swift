import Foundation
import HTTP
import Networking
import Streams
import TestSupport
import Testing

@Suite("R5: a server whose tokens expire")
struct ExpiringTokenTests {
  private static func client(_ server: BFFServer, _ tokens: some TokenProvider) throws -> APIClient {
    try APIClient(baseURL: server.graphqlURL, middlewares: [AuthMiddleware(tokens, challenge: .graphQL)])
  }

  private static func pings(_ count: Int, on client: APIClient) async -> [Result<Int?, RequestError>] {
    await withTaskGroup(of: Result<Int?, RequestError>.self) { group in
      for _ in 0..<count {
        group.addTask {
          do {
            return .success(try await Ping().post(on: client).value.data?.getMomentsDetailsByUserID.moments.count)
          } catch {
            return .failure(RequestError(wrapping: error))
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test(arguments: ["http", "graphql"])
  func `100 concurrent requests under an expired token cause one refresh`(mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = try BFFTokens(url: server.graphqlURL, token: AccessToken("expired-token"))
    let results = await Self.pings(100, on: try Self.client(server, tokens))
    #expect(results.allSatisfy { (try? $0.get()) == 5 })
    let stats = try await server.stats()
    #expect(stats.operations["refreshToken"] == 1)
    // Each is sent under the old token at most once, and under the new one exactly once.
    #expect((100...200).contains(stats.operations["ping"] ?? 0))
    try await server.stop()
  }

  @Test(arguments: ["http", "graphql"])
  func `a refresh that is refused fails all 100 once, and none hangs`(mode: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", mode])
    let tokens = try BFFTokens(
      url: server.graphqlURL, token: AccessToken("expired-token"), refreshToken: "used-refresh-token")
    let results = await Self.pings(100, on: try Self.client(server, tokens))
    #expect(results.count == 100)
    for result in results {
      guard case .failure(let error) = result else { throw RequestError(.unknown, "A request succeeded.") }
      #expect(error.graphQLErrors.map(\.code) == ["UNAUTHENTICATED"])
      #expect(error.operationName == "ping")
      #expect(!"\(error)".contains("used-refresh-token"))
    }
    #expect(try await server.stats().operations["refreshToken"] == 1)
    try await server.stop()
  }
}
