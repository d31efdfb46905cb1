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

@Suite("batches of queries", .timeLimit(.minutes(1)))
struct QueryBatchTests {
  /// A query that says which response is its own.
  private struct Get: GraphQLSession {
    struct Variables: Encodable, Sendable { let id: Int }
    struct ResponseData: Decodable, Sendable { let id: Int }
    static let query: GraphQLDocument = "query get($id: Int) { id(is: $id) }"
    let variables: Variables
    var timeouts: HTTPTimeouts?

    init(_ id: Int, total: Duration? = nil) {
      variables = Variables(id: id)
      timeouts = total.map { HTTPTimeouts(total: $0) }
    }
  }

  private let scheduler = TestScheduler()
  private let transport: ScriptedTransport

  init() { transport = ScriptedTransport(scheduler: scheduler, keepsTimeouts: false) }

  private func client(limit: Int = 10, middlewares: [any HTTPMiddleware] = []) throws -> APIClient {
    var client = try GraphQLClientTestSupport.client(transport, middlewares: middlewares)
    client.graphQL.wire.batching = .within(.milliseconds(10), upTo: limit, scheduler: scheduler)
    return client
  }

  private func list(_ ids: [Int]) -> ScriptedResponse {
    .json("[" + ids.map { #"{"data":{"id":\#($0)}}"# }.joined(separator: ",") + "]")
  }

  /// What came of each query that was sent.
  private final class Outcomes: Sendable {
    let all = Locked<[Int: Result<Int, RequestError>]>([:])
    private let bags = Locked<[Int: any Disposable]>([:])

    func send(_ query: Get, on client: APIClient) {
      let id = query.variables.id
      let subscription = query.post(on: client).subscribe(
        onNext: { response in self.all.withLock { $0[id] = .success(response.data.id) } },
        onError: { error in self.all.withLock { $0[id] = .failure(RequestError(wrapping: error)) } })
      bags.withLock { $0[id] = subscription }
    }

    func cancel(_ id: Int) { bags.withLock { $0[id] }?.dispose() }

    var values: [Int: Int] { all.withLock { $0.compactMapValues { try? $0.get() } } }

    var errors: [Int: RequestError] {
      all.withLock { $0 }.compactMapValues { if case .failure(let error) = $0 { error } else { nil } }
    }
  }

  private let outcomes = Outcomes()

  @Test func `queries within the interval travel as one request and come apart again`() throws {
    transport.always(.any, list([1, 2, 3]))
    let client = try client()
    for id in 1...3 {
      outcomes.send(Get(id), on: client)
      if id < 3 { scheduler.advance(by: .milliseconds(4)) }
    }
    #expect(transport.requests.isEmpty)
    scheduler.advance(by: .milliseconds(2))
    let request = try #require(transport.onlyRequest)
    #expect(outcomes.values == [1: 1, 2: 2, 3: 3])
    #expect(request.method == .post)
    #expect(request.headers["Content-Type"] == "application/json")
    let members = request.bodyJSON?.arrayValue ?? []
    #expect(members.map { $0["variables"] } == [["id": 1], ["id": 2], ["id": 3]])
    #expect(members.allSatisfy { $0["query"] == .string(Get.query.text) })
    #expect(request.isReplayable)
  }

  @Test func `a batch that is full does not wait, and the next query begins another`() throws {
    transport.expect(.any, list([1, 2]))
    transport.expect(.any, .json(#"{"data":{"id":3}}"#))
    let client = try client(limit: 2)
    for id in 1...3 { outcomes.send(Get(id), on: client) }
    #expect(outcomes.values == [1: 1, 2: 2])
    scheduler.advance(by: .milliseconds(10))
    #expect(outcomes.values == [1: 1, 2: 2, 3: 3])
    // One query alone is no list.
    #expect(transport.requests.count == 2)
    #expect(transport.requests[1].bodyJSON?["variables"] == ["id": 3])
  }

  @Test func `a batch that is full is sent once, even if its response takes longer than the interval`() throws {
    transport.always(.any, list([1, 2]).after(.seconds(1)))
    let client = try client(limit: 2)
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    #expect(transport.requests.count == 1)
    scheduler.advance(by: .seconds(1))
    #expect(outcomes.values == [1: 1, 2: 2])
    #expect(transport.requests.count == 1)
    #expect(transport.cancellations == 0)
  }

  @Test func `mutations, queries by GET and those with other header fields do not join`() async throws {
    struct Other: GraphQLSession {
      typealias ResponseData = Get.ResponseData
      static let query: GraphQLDocument = "query other { id }"
      let headers: HTTPHeaders = ["X-A": "1"]
    }
    transport.always(.any, .json(#"{"data":{"id":1}}"#))
    let client = try client()
    outcomes.send(Get(1), on: client)
    let other = Other().post(on: client).subscribe(onNext: { _ in })
    _ = try await ChangeThing().post(on: client).value
    _ = try await Get(2).get(on: client).value
    #expect(transport.requests.map(\.method) == [.post, .get])
    scheduler.advance(by: .milliseconds(10))
    #expect(transport.requests.count == 4)
    #expect(outcomes.values == [1: 1])
    other.dispose()
  }

  @Test func `operations with @defer do not join`() throws {
    struct GetLater: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let id: Int }
      static let query: GraphQLDocument = "query later { id ... @defer { name } }"
    }
    transport.expect(.operation("later"), .json(#"{"data":{"id":7,"name":"a"}}"#))
    transport.expect(.operation("later"), .json(#"{"data":{"id":8,"name":"a"}}"#))
    transport.expect(.operation("get"), list([1, 2]))
    let client = try client()
    let ids = Locked<[Int]>([])
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    let bag = DisposeBag()
    GetLater().data(on: client).subscribe(onNext: { data in ids.withLock { $0.append(data.id) } }).disposed(by: bag)
    GetLater().responses(on: client).subscribe(onNext: { response in ids.withLock { $0.append(response.data.id) } })
      .disposed(by: bag)
    // They have not waited for the interval.
    #expect(ids.withLock { $0 } == [7, 8])
    scheduler.advance(by: .milliseconds(10))
    #expect(outcomes.values == [1: 1, 2: 2])
    #expect(transport.failures.isEmpty)
  }

  @Test func `S4: a query with secrets travels alone, so that no error of another one can quote them`() throws {
    struct SignIn: GraphQLSession {
      typealias ResponseData = Get.ResponseData
      static let query: GraphQLDocument = "query signIn($password: String) { id(of: $password) }"
      let variables = ["password": "correct horse"]
      let secrets = ["correct horse"]
    }
    struct GetToken: GraphQLSession {
      typealias ResponseData = Get.ResponseData
      static let query: GraphQLDocument = "query token { id }"
      let isResponseSecret = true
    }
    transport.always(.any, .json(#"{"data":{"id":1}}"#))
    let client = try client()
    outcomes.send(Get(1), on: client)
    let bag = DisposeBag()
    SignIn().post(on: client).subscribe(onNext: { _ in }).disposed(by: bag)
    GetToken().post(on: client).subscribe(onNext: { _ in }).disposed(by: bag)
    #expect(transport.requests.map(\.operationName) == ["signIn", "token"])
    scheduler.advance(by: .milliseconds(10))
    #expect(transport.requests.count == 3)
    #expect(outcomes.values == [1: 1])
  }

  @Test func `interceptors see each query of a batch, with the response or the error that is its own`() throws {
    struct Note: SessionInterceptor {
      let log: Locked<[Int: String]>

      func intercept<Session: APISession>(
        _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
      ) -> Observable<Session.ResponseType> {
        guard let id = (session as? Get)?.variables.id else { return next(session) }
        return next(session).do(
          onNext: { response in log.withLock { $0[id] = "\((response as? Get.ResponseType)?.data.id ?? 0)" } },
          onError: { error in log.withLock { $0[id] = RequestError(wrapping: error).message } })
      }
    }
    transport.always(.any, .json(#"[{"data":{"id":1}},{"errors":[{"message":"none"}]},{"data":{"id":3}}]"#))
    var client = try client()
    let log = Locked<[Int: String]>([:])
    client.interceptors = [Note(log: log)]
    for id in 1...3 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    let seen = log.withLock { $0 }
    #expect(seen[1] == "1")
    #expect(seen[2]?.contains("none") == true)
    #expect(seen[3] == "3")
    #expect(transport.requests.count == 1)
    #expect(outcomes.values == [1: 1, 3: 3])
  }

  @Test func `nothing waits unless batches are asked for`() async throws {
    transport.always(.any, .json(#"{"data":{"id":1}}"#))
    _ = try await Get(1).post(on: GraphQLClientTestSupport.client(transport)).value
    #expect(transport.requests.count == 1)
  }

  @Test func `one cancelled query leaves the others, and with the last one the request is cancelled`() throws {
    transport.expect(.any, list([1, 2]).after(.seconds(1)))
    transport.expect(.any, list([3, 4]).after(.seconds(1)))
    let client = try client()
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    outcomes.cancel(1)
    scheduler.advance(by: .seconds(1))
    #expect(outcomes.values == [2: 2])
    #expect(transport.cancellations == 0)
    for id in 3...4 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    for id in 3...4 { outcomes.cancel(id) }
    #expect(transport.cancellations == 1)
    scheduler.advance(by: .seconds(2))
    #expect(outcomes.values == [2: 2])
    #expect(outcomes.errors.isEmpty)
  }

  @Test func `what is cancelled before a batch is sent is not sent`() throws {
    transport.always(.any, .json(#"{"data":{"id":2}}"#))
    let client = try client()
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    outcomes.cancel(1)
    scheduler.advance(by: .milliseconds(10))
    #expect(transport.onlyRequest?.bodyJSON?["variables"] == ["id": 2])
    #expect(outcomes.values == [2: 2])
    outcomes.send(Get(3), on: client)
    outcomes.cancel(3)
    scheduler.advance(by: .milliseconds(10))
    #expect(transport.requests.count == 1)
  }

  @Test func `one that is cancelled twice, or after its end, changes nothing`() throws {
    transport.always(.any, list([1, 2, 3]).after(.seconds(1)))
    let client = try client()
    for id in 1...3 { outcomes.send(Get(id), on: client) }
    for _ in 1...2 { outcomes.cancel(1) }
    outcomes.send(Get(1), on: client)
    scheduler.advance(by: .milliseconds(10))
    for _ in 1...3 { outcomes.cancel(1) }
    #expect(transport.cancellations == 0)
    scheduler.advance(by: .seconds(1))
    // Its second attempt was the last of the three.
    #expect(outcomes.values == [2: 1, 3: 2])
    for id in 1...3 { outcomes.cancel(id) }
    #expect(transport.cancellations == 0)
    #expect(transport.requests.count == 1)
  }

  @Test func `each query has its own deadline, and the request the longest of them`() throws {
    transport.always(.any, list([1, 2]).after(.seconds(3)))
    let client = try client()
    outcomes.send(Get(1, total: .seconds(1)), on: client)
    outcomes.send(Get(2, total: .seconds(5)), on: client)
    scheduler.advance(by: .seconds(1))
    #expect(outcomes.errors[1]?.kind == .timedOut)
    #expect(outcomes.errors[1]?.operationName == "get")
    #expect(transport.onlyRequest?.timeouts.total == .seconds(5) - .milliseconds(10))
    scheduler.advance(by: .seconds(3))
    #expect(outcomes.values == [2: 2])
  }

  @Test func `errors belong to the query that they are about`() throws {
    transport.always(.any, .json(#"[{"data":{"id":1}},{"errors":[{"message":"none"}]},{"data":{"id":"x"}}]"#))
    let client = try client()
    for id in 1...3 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    #expect(outcomes.values == [1: 1])
    #expect(outcomes.errors[2]?.graphQLErrors.first?.message == "none")
    #expect(outcomes.errors[3]?.kind == .undecodable)
  }

  @Test(arguments: [
    (#"[{"data":{"id":1}}]"#, "1 responses to a batch of 2"), ("[]", "0 responses to a batch of 2"),
    (#"[{"data":{"id":1}},{},{}]"#, "3 responses to a batch of 2"),
    (#"[{"data":null,"errors":[]}]"#, "1 responses to a batch of 2"),
    (#"{"data":{"id":1}}"#, "one response to a batch of 2"),
  ])
  func `a response that cannot be told apart fails all`(body: String, message: String) throws {
    transport.always(.any, .json(body))
    let client = try client()
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    for id in 1...2 {
      #expect(outcomes.errors[id]?.kind == .undecodable)
      #expect(outcomes.errors[id]?.message.contains(message) == true, "\(outcomes.errors)")
    }
  }

  @Test func `one error for all, of any form, is the error of each`() throws {
    let responses: [ScriptedResponse] = [
      .graphQL(#"{"errors":[{"message":"no batches"}]}"#, status: 400), .json(#"{"errors":[{"message":"no"}]}"#),
      .graphQL(#"[{"errors":[{"message":"no batches"}]}]"#, status: 400), .json(#"[{"errors":[{"message":"no"}]}]"#),
      .response(status: 502, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8)),
      .response(status: 405), .graphQL(#"[{"a":1},{"a":1},{"a":1}]"#, status: 500),
      .failure(RequestError(.connectionLost, "lost")),
    ]
    let kinds: [RequestError.Kind] = [
      .graphQL, .graphQL, .graphQL, .graphQL, .httpStatus, .httpStatus, .httpStatus, .connectionLost,
    ]
    for (response, kind) in zip(responses, kinds) {
      transport.expect(.any, response)
      let client = try client()
      for id in 1...2 { outcomes.send(Get(id), on: client) }
      scheduler.advance(by: .milliseconds(10))
      #expect(outcomes.errors.mapValues(\.kind) == [1: kind, 2: kind])
    }
    #expect(transport.failures.isEmpty)
  }

  @Test func `each query's error has its own name, and the status`() throws {
    struct Other: GraphQLSession {
      typealias ResponseData = Get.ResponseData
      static let query: GraphQLDocument = "query other { id }"
    }
    let responses: [(ScriptedResponse, Int?)] = [
      (.failure(RequestError(.timedOut, "late", operationName: "get+other")), nil), (.response(status: 405), 405),
      (.json("[]"), 200),
    ]
    for (response, status) in responses {
      transport.expect(.any, response)
      let client = try client()
      let error = Locked<RequestError?>(nil)
      outcomes.send(Get(1), on: client)
      let other = Other().post(on: client).subscribe(
        onNext: { _ in }, onError: { thrown in error.withLock { $0 = RequestError(wrapping: thrown) } })
      scheduler.advance(by: .milliseconds(10))
      #expect(outcomes.errors[1]?.operationName == "get")
      #expect(error.withLock { $0?.operationName } == "other")
      #expect(outcomes.errors[1]?.status == status)
      #expect(error.withLock { $0?.status } == status)
      other.dispose()
    }
  }

  @Test(arguments: [
    ScriptedResponse.response(status: 413, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8)),
    .graphQL(#"{"errors":[{"message":"2 of 1","extensions":{"code":"BATCH_LIMIT_EXCEEDED"}}]}"#, status: 422),
  ])
  func `queries whose batch is too large for the server are sent again one by one, once`(refusal: ScriptedResponse)
    throws
  {
    transport.expect(.any, refusal.after(.seconds(1)))
    transport.expect(.any, .json(#"{"data":{"id":1}}"#))
    transport.expect(.any, .response(status: 413))
    let client = try client()
    for id in 1...3 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    // One that was cancelled meanwhile is not sent again.
    outcomes.cancel(3)
    scheduler.advance(by: .seconds(1))
    #expect(outcomes.values == [1: 1])
    #expect(outcomes.errors[2]?.status == 413)
    #expect(outcomes.errors[2]?.message.contains("too large") == true)
    #expect(transport.requests.count == 3)
    #expect(transport.failures.isEmpty)
  }

  @Test(arguments: [
    ScriptedResponse.response(status: 413),
    .graphQL(#"{"errors":[{"message":"no","extensions":{"code":"BATCH_LIMIT_EXCEEDED"}}]}"#, status: 400),
  ])
  func `a refused batch halves the limit, until queries travel alone`(refusal: ScriptedResponse) throws {
    let client = try client()
    func send(_ ids: ClosedRange<Int>, responses: [ScriptedResponse]) {
      for response in responses { transport.expect(.any, response) }
      for id in ids { outcomes.send(Get(id), on: client) }
    }
    func single(_ id: Int) -> ScriptedResponse { .json(#"{"data":{"id":\#(id)}}"#) }
    send(1...5, responses: [refusal] + (1...5).map(single))
    scheduler.advance(by: .milliseconds(10))
    // Two are a full batch now, and do not wait for more.
    send(6...9, responses: [list([6, 7]), refusal, single(8), single(9)])
    #expect(transport.requests.count == 10)
    send(10...11, responses: [single(10), single(11)])
    #expect(outcomes.values == Dictionary(uniqueKeysWithValues: (1...11).map { ($0, $0) }))
    #expect(transport.requests.count == 12)
    #expect(transport.failures.isEmpty)
  }

  @Test func `a batch's response may be as long as those of its queries together`() throws {
    let text = String(repeating: "a", count: 80)
    transport.always(.any, .json(#"[{"data":{"id":1,"t":"\#(text)"}},{"data":{"id":2,"t":"\#(text)\#(text)"}}]"#))
    var client = try client()
    client.responseBodyLimit = 150
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    #expect(outcomes.values == [1: 1])
    #expect(outcomes.errors[2]?.kind == .tooLarge)
    client.responseBodyLimit = 50
    for id in 3...4 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    #expect(outcomes.errors[3]?.kind == .tooLarge)
    #expect(outcomes.errors[4]?.operationName == "get")
  }

  @Test func `F4: clients with other middlewares never share a batch`() throws {
    transport.always(.any, .json(#"{"data":{"id":1}}"#))
    let shared = try client()
    for (id, name) in [(1, "A"), (2, "B")] {
      var client = shared
      let tokens = InMemoryTokenProvider(AccessToken("token-of-\(name)", account: name)) { _ in .never() }
      client.middlewares = [AuthMiddleware(tokens)]
      outcomes.send(Get(id), on: client)
    }
    scheduler.advance(by: .milliseconds(10))
    #expect(
      Set(transport.requests.compactMap { $0.headers["Authorization"] }) == ["Bearer token-of-A", "Bearer token-of-B"])
    #expect(transport.requests.count == 2)
  }

  @Test func `a query whose token is refused inside a batch is sent again by itself, with a new one`() async throws {
    let refused = #"{"errors":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#
    transport.expect(.any, .json("[\(refused),\(#"{"data":{"id":2}}"#)]"))
    transport.expect(.any, .json(refused))
    transport.expect(.any, .json(#"{"data":{"id":1}}"#))
    let tokens = InMemoryTokenProvider(AccessToken("old")) { _ in .just(AccessToken("new")) }
    let client = try client(middlewares: [AuthMiddleware(tokens, challenge: .graphQL)])
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(10))
    try await eventually { outcomes.values.count >= 2 }
    #expect(outcomes.values == [1: 1, 2: 2])
    #expect(
      transport.requests.compactMap { $0.headers["Authorization"] } == ["Bearer old", "Bearer old", "Bearer new"])
  }

  @Test func `a batch of hashes that the server does not know becomes a batch of documents`() throws {
    let missing = #"{"errors":[{"message":"PersistedQueryNotFound"}]}"#
    transport.expect(.any, .json(missing))
    transport.expect(.any, list([1, 2]))
    var client = try client()
    client.graphQL.wire.documents = .automaticallyPersisted
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(20))
    #expect(outcomes.values == [1: 1, 2: 2])
    let sent = transport.requests.map { $0.bodyJSON?.arrayValue?.map { $0["query"] == nil } }
    #expect(sent == [[true, true], [false, false]])
  }

  /// Numbers the attempts of each query in a header field, and keeps what it was called for.
  private struct Tracer: RequestObserver {
    let marked = Locked<[String]>([])
    let started = Locked<[Int]>([])

    func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
      let name = request.operationName ?? ""
      request.onAttempt = { [marked] number, request in
        marked.withLock { $0.append("\(name) \(number)") }
        try? request.headers.set("X-Attempt", to: "\(name) \(number)")
      }
      return { [started] event in
        if case .attemptStarted(let number) = event { started.withLock { $0.append(number) } }
      }
    }
  }

  @Test func `an attempt of a batch is one of each of its queries`() throws {
    let outcomes = Outcomes()
    let tracer = Tracer()
    transport.expect(.any, list([1, 2]))
    var client = try client()
    client.observer = tracer
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(20))
    #expect(outcomes.values == [1: 1, 2: 2])
    #expect(tracer.started.withLock { $0 } == [1, 1])
    #expect(tracer.marked.withLock { $0 }.count == 2)
    #expect(transport.requests.first?.headers["X-Attempt"] != nil)
  }

  @Test func `no error of a batch shows what the observer of another of its queries has added`() throws {
    /// Adds a proof of its own to each attempt.
    struct Prover: RequestObserver {
      let count = Locked(0)

      func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
        request.onAttempt = { [count] _, request in
          let number = count.withLock { count in
            count += 1
            return count
          }
          try? request.headers.set("DPoP", to: "canary-proof-\(number)")
        }
        return { _ in }
      }
    }
    let outcomes = Outcomes()
    let error = #"{"errors":[{"message":"canary-proof-2"}]}"#
    transport.expect(.any, .json("[\(error),\(error)]"))
    var client = try client()
    client.observer = Prover()
    for id in 1...2 { outcomes.send(Get(id), on: client) }
    scheduler.advance(by: .milliseconds(20))
    #expect(transport.onlyRequest?.headers["DPoP"] == "canary-proof-2")
    #expect(outcomes.errors.count == 2)
    for error in outcomes.errors.values { #expect(!"\(error)".contains("canary"), "\(error)") }
  }

  @Test func `ten queries are one request to the real server`() async throws {
    let server = try await BFFServer.start()
    var client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard())
    client.graphQL.wire.batching = .within(.seconds(1))
    client.timeouts.total = .seconds(30)
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 1...10 {
        group.addTask { [client] in try await Ping().post(on: client).value.data.getMomentsDetailsByUserID.moments.count
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts == Array(repeating: 5, count: 10))
    let stats = try await server.stats()
    #expect(stats.requests["/graphql"] == 1)
    #expect(stats.operations["ping"] == 10)
  }
}
