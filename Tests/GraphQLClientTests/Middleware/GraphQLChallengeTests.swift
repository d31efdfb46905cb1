import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import Testing

@Suite("GraphQL errors that demand a new token")
struct GraphQLChallengeTests {
  private static let unauthenticated = #"{"message":"m","extensions":{"code":"UNAUTHENTICATED"}}"#

  private static func refusal(at path: String) -> String {
    #"{"message":"m","path":\#(path),"extensions":{"code":"UNAUTHENTICATED"}}"#
  }

  @Test(
    arguments: [
      ("", 401, true),
      (#"{"errors":[\#(unauthenticated)]}"#, 200, true),
      (#"{"data":null,"errors":[\#(unauthenticated)]}"#, 200, true),
      (#"{"errors":[{"message":"User UNAUTH","extensions":{"code":"UNAUTHENTICATED"}}]}"#, 200, true),
      (#"{"data":null,"errors":[{"message":"m"},\#(unauthenticated)]}"#, 400, true),
      (#"{"data":{"a":null},"errors":[\#(unauthenticated)]}"#, 200, false),
      (#"{"data":{},"errors":[\#(unauthenticated)]}"#, 200, false),
      (#"{"data":null,"errors":[{"message":"UNAUTHENTICATED"}]}"#, 200, false),
      (#"{"data":null,"errors":[{"message":"m","extensions":{"code":"FORBIDDEN"}}]}"#, 200, false),
      (#"{"errors":"UNAUTHENTICATED"}"#, 200, false),
      (#"UNAUTHENTICATED"#, 200, false),
      (#"{"data":null}"#, 200, false),
      (#"{"data":null,"errors":[\#(refusal(at: #"["like"]"#))]}"#, 200, true),
      (#"{"data":null,"errors":[\#(refusal(at: #"["like","by"]"#))]}"#, 200, false),
      (#"{"data":null,"errors":[\#(refusal(at: #"["like","by"]"#))]}"#, 401, true),
      (#"{"data":null,"errors":[{"message":"m","path":["like",0]},\#(unauthenticated)]}"#, 200, false),
    ] as [(String, Int, Bool)])
  func `a mutation is replayed once exactly where nothing was carried out`(
    body: String, status: Int, isChallenge: Bool
  ) async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json(body, status: status))
    if isChallenge { transport.expect(.any, .json(#"{"data":{"like":true}}"#)) }
    let provider = InMemoryTokenProvider(AccessToken("old-token")) { _ in .just(AccessToken("new-token")) }
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: [RetryMiddleware(), AuthMiddleware(provider, challenge: .graphQL)])
    let response = try? await Like().post(on: client).value
    #expect((response?.data.like == true) == isChallenge)
    #expect(transport.failures.isEmpty)
    #expect(
      transport.requests.last?.headers["Authorization"] == (isChallenge ? "Bearer new-token" : "Bearer old-token"))
  }

  @Test(
    arguments: [
      (#"{"data":null,"errors":[\#(unauthenticated)]}"#, 200, .rejected),
      (#"{"errors":[\#(unauthenticated)]}"#, 400, .rejected),
      (#"{"data":{"like":true},"errors":[\#(unauthenticated)]}"#, 200, .maybe),
      // Data that cannot be decoded are data, too.
      (#"{"data":{"like":null},"errors":[\#(unauthenticated)]}"#, 200, .maybe),
      (#"{"data":{"like":true},"errors":[\#(unauthenticated)]}"#, 400, .maybe),
      (#"{"data":{"like":true},"errors":[\#(unauthenticated)]}"#, 401, .rejected),
    ] as [(String, Int, RequestError.Reach)])
  func `R1: a mutation whose response has data may have been carried out, whatever its errors say`(
    body: String, status: Int, reached: RequestError.Reach
  ) async throws {
    let client = try client(ScriptedTransport(always: .json(body, status: status)))
    let failure = try #require(await Like().post(on: client).failure)
    #expect(failure.isUnauthenticated)
    #expect(failure.reached == reached)
    let deferred = try #require(await DeferredLike().post(on: client).failure)
    #expect(deferred.reached == reached)
  }

  @Test func `a query is replayed wherever in its data it was refused`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json(#"{"data":null,"errors":[\#(Self.refusal(at: #"["thing","name"]"#))]}"#))
    transport.expect(.any, .wholeThing)
    let provider = InMemoryTokenProvider(AccessToken("old-token")) { _ in .just(AccessToken("new-token")) }
    let client = try client(transport, middlewares: [AuthMiddleware(provider, challenge: .graphQL)])
    #expect(try await GetThing().post(on: client).value.data == .whole)
  }

  @Test func `a response without a media type is taken for JSON here, too`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .response(body: Data(#"{"errors":[\#(Self.unauthenticated)]}"#.utf8)))
    transport.expect(.any, .json(#"{"data":{"like":true}}"#))
    let provider = InMemoryTokenProvider(AccessToken("old-token")) { _ in .just(AccessToken("new-token")) }
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: [AuthMiddleware(provider, challenge: .graphQL)])
    #expect(try await Like().post(on: client).value.data.like == true)
  }

  @Test(
    arguments: [
      (RequestError(.httpStatus, "", status: 400), true), (RequestError(.httpStatus, "", status: 401), true),
      (RequestError(.httpStatus, "", status: 408), false), (RequestError(.httpStatus, "", status: 429), false),
      (RequestError(.httpStatus, "", status: 503), false), (RequestError(.graphQL, "expired"), true),
      (RequestError(.rejected, "code 7"), true), (RequestError(.insecure, ""), false),
      (RequestError(.undecodable, "", status: 200), false), (RequestError(.timedOut, ""), false),
      (RequestError(.circuitOpen, ""), false), (RequestError(wrapping: CancellationError()), false),
    ])
  func `the user has to sign in again only where the server refuses to refresh a token`(
    error: RequestError, isRefused: Bool
  ) async throws {
    let transport = ScriptedTransport(always: .response(status: 401))
    let provider = InMemoryTokenProvider(AccessToken("old-token")) { _ in .error(error) }
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: [AuthMiddleware(provider, challenge: .graphQL)])
    let failure = try #require(await Like().post(on: client).failure)
    #expect(failure.kind == error.kind)
    #expect(failure.status == error.status)
    #expect(failure.isUnauthenticated == isRefused)
  }

  private struct Like: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let like: Bool
    }
    static let query: GraphQLDocument = "mutation like { like }"
  }

  private struct DeferredLike: GraphQLSession {
    typealias ResponseData = Like.ResponseData
    static let query: GraphQLDocument = "mutation like { like ... @defer { count } }"
  }
}
