import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StrictJSON
import Synchronization
import TestSupport
import Testing

@Suite("cached GraphQL queries")
struct CacheTests {
  /// A query whose response the real server lets be cached as the session says.
  private struct GetNode: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let id: String
    }
    typealias ResponseData = JSONValue
    static let query: GraphQLDocument = "query getNode($id: ID!) { node(id: $id) { id } }"
    let variables: Variables
    var cacheControl = "max-age=60"
    var requestControl: String?

    init(_ id: String = "0", _ cacheControl: String = "max-age=60", requestControl: String? = nil) {
      variables = Variables(id: id)
      self.cacheControl = cacheControl
      self.requestControl = requestControl
    }

    var headers: HTTPHeaders {
      get throws {
        var headers = HTTPHeaders()
        try headers.set("X-Cache-Control", to: cacheControl)
        if let requestControl { try headers.set("Cache-Control", to: requestControl) }
        return headers
      }
    }
  }

  private final class Sources: RequestObserver {
    let summaries = Mutex<[RequestSummary]>([])
    func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
      { event in if case .ended(let summary) = event { self.summaries.withLock { $0.append(summary) } } }
    }
  }

  @Test func `a query by GET is served from memory, and a stale one after a 304 of the real server`() async throws {
    let server = try await BFFServer.start()
    let observer = Sources()
    var client = try APIClient(
      baseURL: server.graphqlURL, middlewares: .standard(cache: MemoryCacheStorage()), observer: observer)
    client.timeouts.total = .seconds(30)
    let first = try await GetNode().get(on: client).value
    #expect(try await GetNode().get(on: client).value.data == first.data)
    #expect(try await server.stats().requests["/graphql"] == 1)
    #expect(try await GetNode(requestControl: "no-cache").get(on: client).value.data == first.data)
    #expect(try await server.stats().requests["/graphql"] == 2)
    let summaries = observer.summaries.withLock { $0 }
    #expect(summaries.map(\.attemptCount) == [1, 0, 1])
    #expect(summaries[2].receivedBytes == 0)
    #expect(summaries[0].source == .network)
    #expect(summaries[2].source == .validatedCache)
    // Another operation, other variables, and a POST are other requests.
    _ = try await GetNode("1").get(on: client).value
    _ = try await GetNode().post(on: client).value
    #expect(try await server.stats().requests["/graphql"] == 4)
  }

  private struct Rename: GraphQLSession {
    typealias ResponseData = JSONValue
    static let query: GraphQLDocument = "mutation rename { rename }"
  }

  /// What is sent by POST to the address of a cached response, and whether that has to be asked for again.
  enum Posted: String, CaseIterable {
    case query, batch, incremental, subscription, mutation
  }

  @Test(arguments: Posted.allCases)
  func `4.4: of GraphQL's operations by POST, only mutations invalidate`(posted: Posted) async throws {
    let transport = ScriptedTransport()
    transport.always(
      RequestMatcher("GET") { $0.method == .get },
      .response(headers: ["Cache-Control": "max-age=60"], body: Data("{}".utf8)))
    transport.always(
      RequestMatcher("POST") { $0.method == .post },
      posted == .subscription
        ? StreamLiveTests.Format.eventStream.response([1])
        : .json(posted == .batch ? #"[{"data":{}},{"data":{}}]"# : #"{"data":{}}"#))
    var batching = try GraphQLClientTestSupport.client(
      transport, base: "http://127.0.0.1/graphql", middlewares: .standard(cache: MemoryCacheStorage()))
    if posted == .batch { batching.graphQL.wire.batching = .within(.seconds(10), upTo: 2) }
    let client = batching
    func get() async throws -> HTTPResponseSource {
      let request = try HTTPRequest(method: .get, url: client.baseURL)
      return try await transport.send(request, through: client.middlewares).collect(upTo: 100).value.head.source
    }
    _ = try await get()
    switch posted {
    case .query: _ = try await GetNode().post(on: client).value
    case .batch:
      async let first = GetNode("1").post(on: client).value
      async let second = GetNode("2").post(on: client).value
      _ = try await (first, second)
    case .incremental: for try await _ in GetNode().responses(on: client).values {}
    case .subscription: for try await _ in Countdown(1).subscribe(on: client).values {}
    case .mutation: _ = try await Rename().post(on: client).value
    }
    let isInvalidated = try await get() == .network
    #expect(isInvalidated == (posted == .mutation))
  }

  @Test func `GraphQL errors are not stored, whatever the server says`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard(cache: MemoryCacheStorage()))
    for _ in 1...2 { await #expect(throws: RequestError.self) { try await GetUnknown().get(on: client).value } }
    #expect(try await server.stats().requests["/graphql"] == 2)
  }

  private struct GetUnknown: GraphQLSession {
    typealias ResponseData = JSONValue
    static let query: GraphQLDocument =
      "query getUnknown { getMomentsDetailsByUserID(userID: \"none\") { moments { id } } }"
    let headers: HTTPHeaders = ["X-Cache-Control": "max-age=60"]
  }

  @Test(arguments: [
    (#"{"data":{"a":1}}"#, true), (#"{"data":{"a":1},"errors":[]}"#, true), (#"{"errors":null,"data":{}}"#, true),
    (#"{"data":{"errors":[1]}}"#, true), (#"[1,{"errors":[1]}]"#, true), (#"{"errors":[{"message":"m"}]}"#, false),
    (#"{"data":{"a":1},"\u0065rrors":[{}]}"#, false), (#"{"errors":{}}"#, false),
    (#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#, false), (#"{"data":"#, false), ("<html>", false),
  ])
  func `a response has no GraphQL errors`(body: String, hasNone: Bool) {
    let response = HTTPResponse(
      status: 200, headers: ["Content-Type": "application/graphql-response+json"], body: Data(body.utf8))
    #expect(CacheMiddleware.hasNoGraphQLErrors(response) == hasNone)
    let text = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Data(body.utf8))
    #expect(CacheMiddleware.hasNoGraphQLErrors(text))
  }

  private struct GetSecret: APISession {
    typealias ResponseType = HTTPResponse
    var secrets: [String] = []
    var isResponseSecret = false
    let responseParser = ResponseParser<HTTPResponse>.response
  }

  @Test func `S3: what a session calls secret is not stored`() async throws {
    let transport = ScriptedTransport(
      always: .response(headers: ["Cache-Control": "max-age=60"], body: Data("{}".utf8)))
    let client = try client(transport, middlewares: .standard(cache: MemoryCacheStorage()))
    for session in [GetSecret(secrets: [canary]), GetSecret(isResponseSecret: true), GetSecret()] {
      for _ in 1...2 { _ = try await session.get(on: client).value }
    }
    #expect(transport.requests.count == 5)
  }

  @Test func `F4: one stack for many users serves each its own`() async throws {
    let transport = ScriptedTransport()
    transport.always(
      .any,
      .response(headers: ["Cache-Control": "max-age=60", "Content-Type": "text/plain"], body: Data("whose?".utf8)))
    let shared = try client(transport, middlewares: .standard(cache: MemoryCacheStorage()))
    let users = ["A", "B"].map { name in
      var client = shared
      let tokens = InMemoryTokenProvider(AccessToken("token-of-\(name)", account: name)) { _ in .never() }
      client.middlewares = shared.middlewares.authenticating(by: AuthMiddleware(tokens))
      return client
    }
    for _ in 1...3 {
      for client in users + [shared] { _ = try await GetSecret().get(on: client).value }
    }
    #expect(
      transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-of-A", "Bearer token-of-B", nil])
  }
}
