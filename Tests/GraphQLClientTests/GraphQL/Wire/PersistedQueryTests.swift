import BFFOperations
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

@Suite("automatic persisted queries")
struct PersistedQueryTests {
  private let transport = ScriptedTransport()

  private func client(byGET: Bool = true, middlewares: [any HTTPMiddleware] = []) throws -> APIClient {
    var client = try GraphQLClientTestSupport.client(transport, middlewares: middlewares)
    client.graphQL.wire = .persistedQueries(byGET: byGET)
    return client
  }

  private static func refusal(_ message: String, _ code: String? = nil, status: Int = 200) -> ScriptedResponse {
    let extensions = code.map { #","extensions":{"code":"\#($0)"}"# } ?? ""
    return .graphQL(#"{"errors":[{"message":"\#(message)"\#(extensions)}]}"#, status: status)
  }

  private static func hash(_ document: GraphQLDocument) -> JSONValue {
    ["persistedQuery": ["version": 1, "sha256Hash": .string(document.sha256)]]
  }

  @Test(arguments: [
    refusal("PersistedQueryNotFound"), refusal("none", "PERSISTED_QUERY_NOT_FOUND", status: 404),
    refusal("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", status: 400),
  ])
  func `a hash that the server does not know is followed by hash and document, once`(refusal: ScriptedResponse)
    async throws
  {
    transport.expect(.any, refusal)
    transport.always(.any, .wholeThing)
    let client = try client()
    let session = GetThing(extensions: ["a": 1])
    #expect(try await session.post(on: client).value.data == .whole)
    #expect(try await session.post(on: client).value.data == .whole)
    let requests = transport.requests
    #expect(requests.map(\.method) == [.get, .post, .get])
    let extensions: JSONValue = [
      "a": 1, "persistedQuery": ["version": 1, "sha256Hash": .string(GetThing.query.sha256)],
    ]
    #expect(try JSONValue(json: requests[0].queryItems["extensions"] ?? "") == extensions)
    #expect(requests[0].queryItems["query"] == nil)
    #expect(requests[0].url == requests[2].url)
    #expect(
      requests[1].bodyJSON == [
        "query": .string(GetThing.query.text), "operationName": "getThing", "extensions": extensions,
      ])
    #expect(requests[1].url.query() == nil)
    #expect(requests[1].headers["Content-Type"] == "application/json")
    // A cache on the way that kept the first response is not asked again.
    #expect(requests.map { $0.headers["Cache-Control"] } == [nil, nil, "no-cache"])
    _ = try await session.post(on: client).value
    #expect(transport.requests[3].headers["Cache-Control"] == nil)
  }

  @Test func `a document that is refused after its hash is not sent a third time`() async throws {
    transport.always(.any, Self.refusal("PersistedQueryNotFound"))
    #expect(await GetThing().post(on: try client()).failure?.graphQLErrors.first?.message == "PersistedQueryNotFound")
    #expect(transport.requests.count == 2)
  }

  @Test func `a mutation is known by its hash, too, and never by GET`() async throws {
    transport.expect(.any, Self.refusal("PersistedQueryNotFound"))
    transport.always(.any, .wholeThing)
    let client = try client()
    for _ in 1...2 { _ = try await ChangeThing().post(on: client).value }
    #expect(transport.requests.map(\.method) == [.post, .post, .post])
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, true])
    #expect(transport.requests.allSatisfy { $0.bodyJSON?["extensions"] == Self.hash(ChangeThing.query) })
  }

  @Test(arguments: ["PersistedQueryNotFound", "PersistedQueryNotSupported"])
  func `G11: a mutation is not sent again for a hash that was not known inside its result`(message: String) async throws
  {
    let error = #"{"message":"\#(message)","path":["changeThing","owner"]}"#
    transport.expect(.any, .graphQL(#"{"data":null,"errors":[\#(error)]}"#))
    transport.always(.any, .wholeThing)
    let client = try client()
    #expect(await ChangeThing().post(on: client).failure?.graphQLErrors.first?.message == message)
    #expect(transport.requests.count == 1)
    _ = try await ChangeThing().post(on: client).value
    #expect(transport.requests.last?.bodyJSON?["query"] == nil)
  }

  @Test(arguments: [
    refusal("PersistedQueryNotSupported"), refusal("no", "PERSISTED_QUERY_NOT_SUPPORTED", status: 400),
  ])
  func `a server without persisted queries gets no more hashes`(refusal: ScriptedResponse) async throws {
    transport.expect(.any, refusal)
    transport.always(.any, .wholeThing)
    let client = try client(byGET: false)
    let copy = client
    for client in [client, copy] { _ = try await GetThing().post(on: client).value }
    #expect(transport.requests.map { $0.bodyJSON?["extensions"] == nil } == [false, true, true])
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, false])
  }

  @Test(arguments: [
    ScriptedResponse.response(status: 400, headers: ["Content-Type": "text/html"], body: Data("Must provide".utf8)),
    refusal("Must provide query string.", status: 400), refusal("Must provide query string."),
    .response(status: 500),
  ])
  func `a server that fails at the first hash, and not at the document, gets no hash for a while`(
    failure: ScriptedResponse
  ) async throws {
    let scheduler = TestScheduler()
    transport.expect(.any, failure)
    transport.always(.any, .wholeThing)
    var client = try client(byGET: false)
    client.graphQL.persistedQueries = PersistedQueries(scheduler: scheduler)
    for _ in 1...2 { _ = try await GetThing().post(on: client).value }
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, false])
    #expect(transport.requests[1].bodyJSON?["extensions"] == nil)
    // If it fails once more, the pause is twice as long.
    for seconds in [60, 120] {
      scheduler.advance(by: .seconds(seconds) - .milliseconds(1))
      _ = try await GetThing().post(on: client).value
      #expect(transport.requests.last?.bodyJSON?["query"] != nil)
      scheduler.advance(by: .milliseconds(1))
      if seconds == 60 { transport.expect(.any, failure) }
      let count = transport.requests.count
      _ = try await GetThing().post(on: client).value
      #expect(transport.requests[count].bodyJSON?["query"] == nil)
    }
    // Now it is known to take them, and a failure is a failure.
    transport.expect(.any, failure)
    _ = await GetThing().post(on: client).failure
    _ = try await GetThing().post(on: client).value
    #expect(transport.requests.suffix(2).allSatisfy { $0.bodyJSON?["query"] == nil })
  }

  @Test func `a failure turns hashes off no more once the server has taken one`() throws {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler, keepsTimeouts: false)
    transport.expect(.any, .response(status: 500))
    transport.expect(.operation("getThing"), .wholeThing.after(.seconds(1)))
    transport.always(.any, .wholeThing)
    var client = try GraphQLClientTestSupport.client(transport)
    client.graphQL.wire = .persistedQueries(byGET: false)
    let bag = DisposeBag()
    // The first one's document is on its way while the hash of the second one is known.
    GetThing().post(on: client).subscribe(onNext: { _ in }).disposed(by: bag)
    ChangeThing().post(on: client).subscribe(onNext: { _ in }).disposed(by: bag)
    scheduler.advance(by: .seconds(1))
    GetThing().post(on: client).subscribe(onNext: { _ in }).disposed(by: bag)
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, true, true])
  }

  @Test(arguments: ["UNAUTHENTICATED", "FORBIDDEN", "THROTTLED", "RATE_LIMITED"])
  func `an error about the user or a rate is not answered with the document, and says nothing of hashes`(code: String)
    async throws
  {
    transport.expect(.any, Self.refusal("no", code))
    transport.expect(.any, Self.refusal("Must provide query string."))
    transport.always(.any, .wholeThing)
    let client = try client(byGET: false)
    #expect(await GetThing().post(on: client).failure?.graphQLErrors.first?.code == code)
    #expect(transport.requests.count == 1)
    _ = try await GetThing().post(on: client).value
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, true, false])
  }

  @Test func `many queries at once, whose hash nobody knows yet, each send the document once`() async throws {
    let known = Locked(false)
    transport.always(.any, .wholeThing)
    transport.always(
      RequestMatcher("without a document") { $0.bodyJSON?["query"] == nil && !known.withLock { $0 } },
      Self.refusal("PersistedQueryNotFound"))
    let client = try client(byGET: false)
    let all = try await withThrowingTaskGroup(of: GetThing.ResponseData.self) { group in
      for _ in 1...50 { group.addTask { try await GetThing().post(on: client).value.data } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(all == Array(repeating: .whole, count: 50))
    #expect(transport.requests.count == 100)
    known.withLock { $0 = true }
    _ = try await GetThing().post(on: client).value
    #expect(transport.requests.count == 101)
  }

  @Test func `a response in parts comes by its hash, or after it with the document`() async throws {
    struct GetLater: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let name: String? }
      static let query: GraphQLDocument = "query later { ... @defer { name } }"
    }
    let parts = """
      --a\r\nContent-Type: application/json\r\n\r
      {"data":{},"pending":[{"id":"0","path":[]}],"hasNext":true}\r
      --a\r\nContent-Type: application/json\r\n\r
      {"incremental":[{"id":"0","data":{"name":"b"}}],"completed":[{"id":"0"}],"hasNext":false}\r\n--a--\r\n
      """
    transport.expect(.any, Self.refusal("PersistedQueryNotFound"))
    transport.always(
      .any, .response(headers: ["Content-Type": #"multipart/mixed; boundary="a""#], body: Data(parts.utf8)))
    let client = try client(byGET: false)
    for _ in 1...2 {
      var last: IncrementalResponse<GetLater.ResponseData>?
      for try await response in GetLater().responses(on: client).values { last = response }
      #expect(last?.data.name == "b")
      #expect(last?.isComplete == true)
    }
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, true])
    #expect(transport.requests.allSatisfy { $0.headers["Accept"]?.hasPrefix("multipart/mixed") == true })
  }

  @Test func `a server that fails at hash and document alike keeps getting hashes`() async throws {
    let failure = Self.refusal("There is no such thing.", "NOT_FOUND")
    transport.always(.any, failure)
    let client = try client(byGET: false)
    for _ in 1...2 { #expect(await GetThing().post(on: client).failure?.graphQLErrors.first?.code == "NOT_FOUND") }
    #expect(transport.requests.map { $0.bodyJSON?["query"] == nil } == [true, false, true, false])
  }

  @Test func `once hashes are known to work, failures are failures`() async throws {
    transport.expect(.any, .wholeThing)
    transport.always(.any, .response(status: 500))
    let client = try client()
    _ = try await GetThing().post(on: client).value
    #expect(await GetThing().post(on: client).failure?.status == 500)
    #expect(transport.requests.count == 2)
  }

  @Test(arguments: [401, 403, 429, 503])
  func `a refusal that has nothing to do with documents is not answered with one`(status: Int) async throws {
    transport.always(.any, .response(status: status))
    #expect(await GetThing().post(on: try client()).failure?.status == status)
    #expect(transport.requests.count == 1)
  }

  @Test func `G11: a mutation is not sent again after a failure that may have come after it was carried out`()
    async throws
  {
    transport.always(.any, .response(status: 500))
    #expect(await ChangeThing().post(on: try client()).failure?.status == 500)
    #expect(transport.requests.count == 1)
  }

  @Test func `a hash that does not match is an error, not a reason to send the document`() async throws {
    transport.always(.any, Self.refusal("provided sha does not match", "PERSISTED_QUERY_HASH_MISMATCH", status: 400))
    #expect(
      await GetThing().post(on: try client()).failure?.graphQLErrors.first?.code == "PERSISTED_QUERY_HASH_MISMATCH")
    #expect(transport.requests.count == 1)
  }

  @Test func `hash and document share one deadline, and are one request to an observer`() async throws {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler)
    transport.expect(.any, Self.refusal("PersistedQueryNotFound"))
    transport.always(.any, .never)
    var client = try GraphQLClientTestSupport.client(transport)
    client.graphQL.wire = .persistedQueries()
    client.timeouts.total = .seconds(5)
    let failure = Task { [client] in await GetThing().post(on: client).failure }
    try await eventually { transport.requests.count >= 2 && scheduler.pendingCount > 0 }
    #expect(transport.requests[1].timeouts.total.map { $0 <= .seconds(5) && $0 > .seconds(4) } == true)
    scheduler.advance(by: .seconds(5))
    #expect(await failure.value?.kind == .timedOut)
  }

  @Test func `G11: a miss that a cache kept is not served again`() async throws {
    // A cache without the rule that keeps errors out, and a server that lets everything be cached.
    let stored: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Type": "application/json"]
    transport.expect(
      .any,
      .response(headers: stored, body: Data(#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#.utf8)))
    transport.always(
      .any, .response(headers: stored, body: Data(#"{"data":{"thing":{"name":"a","count":1}}}"#.utf8)))
    let client = try client(middlewares: [CacheMiddleware()])
    for _ in 1...4 { #expect(try await GetThing().post(on: client).value.data == .whole) }
    // The miss, the document, the hash again; then the cache has it.
    #expect(transport.requests.map(\.method) == [.get, .post, .get])
  }

  @Test func `the real server learns a query once, and a 304 or the cache serves its hash from then on`() async throws {
    let server = try await BFFServer.start()
    var client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard(cache: MemoryCacheStorage()))
    client.graphQL.wire = .persistedQueries()
    client.timeouts.total = .seconds(30)
    try client.defaultHeaders.set("X-Cache-Control", to: "max-age=60")
    let first = try await Ping().post(on: client).value
    var stats = try await server.stats()
    #expect(stats.requests["/graphql"] == 2)
    #expect(stats.persistedQueries == 1)
    #expect(stats.operations["ping"] == 1)
    // The hash by GET is stored once it is known, and served without the server.
    for _ in 1...3 {
      let again = try await Ping().post(on: client).value
      #expect(
        again.data.getMomentsDetailsByUserID.moments.map(\.id)
          == first.data.getMomentsDetailsByUserID.moments.map(\.id))
    }
    stats = try await server.stats()
    #expect(stats.requests["/graphql"] == 3)
    #expect(stats.operations["ping"] == 2)
    // Another process knows no hash to be missing, and needs the document no more.
    var other = try APIClient(baseURL: server.graphqlURL)
    other.graphQL.wire = .persistedQueries()
    _ = try await Ping().post(on: other).value
    #expect(try await server.stats().requests["/graphql"] == 4)
    // What is stale is confirmed by a 304.
    try client.defaultHeaders.set("Cache-Control", to: "no-cache")
    _ = try await Ping().post(on: client).value
    #expect(try await server.stats().requests["/graphql"] == 5)
  }

  @Test func `the real server without persisted queries gets documents`() async throws {
    let server = try await BFFServer.start(arguments: ["--no-persisted-queries"])
    var client = try APIClient(baseURL: server.graphqlURL)
    client.graphQL.wire = .persistedQueries()
    client.timeouts.total = .seconds(30)
    for _ in 1...2 { _ = try await Ping().post(on: client).value }
    let stats = try await server.stats()
    #expect(stats.requests["/graphql"] == 3)
    #expect(stats.operations["ping"] == 2)
  }
}
