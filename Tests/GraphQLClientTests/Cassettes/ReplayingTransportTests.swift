import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@Suite struct ReplayingTransportTests {
  private let folder: CassetteFolder

  init() throws { folder = try CassetteFolder() }

  private struct GetUser: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let id: String
      var size: Double?
    }
    struct ResponseData: Decodable, Sendable { let name: String }
    static let query: GraphQLDocument = "query getUser($id: ID!) { name(id: $id) }"
    let variables: Variables
  }

  /// The same operation, as a later version of the program has it.
  private struct GetUserLater: GraphQLSession {
    typealias ResponseData = GetUser.ResponseData
    static let query: GraphQLDocument = """
      query getUser($id: ID!) {
        name(id: $id) # as it is shown
      }
      """
    let variables: GetUser.Variables
  }

  private func name(_ id: String, on client: APIClient, method: HTTPMethod = .post) async throws -> String {
    try await GetUser(variables: .init(id: id)).data(on: client, method: method).value.name
  }

  /// Records the names of users, in this order.
  private func record(_ users: [(id: String, name: String)], method: HTTPMethod = .post) async throws {
    let scripted = ScriptedTransport()
    for user in users { scripted.expect(.any, .json(#"{"data": {"name": "\#(user.name)"}}"#)) }
    let recorder = RecordingTransport(scripted, to: folder.file)
    let client = try APIClient(baseURL: url("https://h.example/graphql"), transport: recorder)
    for user in users { _ = try await name(user.id, on: client, method: method) }
    try recorder.finish()
  }

  private func replaying(
    _ order: ReplayingTransport.Order, comparing headers: [String] = []
  ) throws -> (ReplayingTransport, APIClient) {
    let transport = try ReplayingTransport(contentsOf: folder.file, order: order, comparing: headers)
    return (transport, try APIClient(baseURL: url("https://other.example/graphql"), transport: transport))
  }

  @Test func `a request out of the recorded order fails, and says what differs`() async throws {
    try await record([("7", "Wei"), ("8", "Mei")])
    let (transport, client) = try replaying(.strict)
    let error = await GetUser(variables: .init(id: "8")).data(on: client).failure
    #expect(error?.kind == .notRecorded)
    #expect(error?.reached == .never)
    #expect(error?.operationName == "getUser")
    let mismatch = try #require(error?.cause as? CassetteMismatch)
    #expect(mismatch.nearest == 0)
    #expect(mismatch.differences == [#"body.variables.id: recorded "7", requested "8""#])
    #expect(try await name("7", on: client) == "Wei")
    #expect(transport.failures == [mismatch.description, "Not requested: exchange 2, POST /graphql (getUser)"])
  }

  @Test(arguments: [
    (HTTPMethod.post, "https://h.example/y", #"{"a": [1, {"b": "c"}]}"#, "path: recorded /x, requested /y"),
    (.put, "https://h.example/x", #"{"a": [1, {"b": "c"}]}"#, "method: recorded POST, requested PUT"),
    (
      .post, "https://h.example/x?q=1", #"{"a": [1, {"b": "c"}]}"#, "parameter 'q': recorded 0 times, requested 1 times"
    ),
    (.post, "https://h.example/x", #"{"a": [2, {"b": "c"}]}"#, "body.a[0]: recorded 1, requested 2"),
    (.post, "https://h.example/x", #"{"a": [1]}"#, "body.a: recorded with 2 elements, requested with 1"),
    (.post, "https://h.example/x", #"{"a": [1, {"d": "c"}]}"#, "body.a[1].b: recorded, and not requested"),
    (.post, "https://h.example/x", #"{"a": [1, "c"]}"#, #"body.a[1]: recorded an object, requested "c""#),
    (.post, "https://h.example/x", "text\nline", "body: recorded JSON, requested a text of 9 bytes"),
    (.post, "https://h.example/x", "", "body: recorded JSON, requested none"),
  ])
  func `a mismatch names the method, the path, the parameter or the place in the body`(
    method: HTTPMethod, address: String, body: String, difference: String
  ) async throws {
    try await folder.record(.post(#"{"a": [1, {"b": "c"}]}"#), response: .json("{}"))
    let (transport, _) = try replaying(.strict)
    let request = try HTTPRequest(
      method: method, url: url(address), headers: ["Content-Type": "application/json"], body: Data(body.utf8))
    let error = await transport.send(request).collect(upTo: 9).failure
    #expect((error?.cause as? CassetteMismatch)?.differences.first == difference)
  }

  @Test func `the order of members and the spelling of numbers do not count`() async throws {
    try await folder.record(.post(#"{"a": 1, "b": [1.50]}"#), response: .json("{}"))
    let (transport, _) = try replaying(.strict)
    _ = try await transport.send(.post(#"{"b":[1.5],"a":1.0}"#)).collect(upTo: 9).value
    #expect(transport.failures == [])
  }

  @Test(arguments: [HTTPMethod.post, .get])
  func `operations are found by their variables, and the document may have changed`(method: HTTPMethod) async throws {
    try await record([("7", "Wei"), ("8", "Mei"), ("7", "Wei later")], method: method)
    let (transport, client) = try replaying(.byOperation())
    #expect(try await GetUserLater(variables: .init(id: "8")).data(on: client).value.name == "Mei")
    #expect(try await name("7", on: client) == "Wei")
    #expect(try await name("7", on: client) == "Wei later")
    #expect(transport.failures == [])
    let error = await GetUser(variables: .init(id: "7")).data(on: client).failure
    #expect(error?.message.contains("all of its exchanges were used before") == true)
    #expect(transport.failures.count == 1)
  }

  @Test func `the nearest exchange is one of the same operation`() async throws {
    try await record([("7", "Wei"), ("8", "Mei")])
    let (_, client) = try replaying(.byOperation())
    let error = await GetUser(variables: .init(id: "8", size: 2.5)).data(on: client).failure
    let mismatch = try #require(error?.cause as? CassetteMismatch)
    #expect(mismatch.nearest == 1)
    #expect(mismatch.differences == ["variables.size: requested, and not recorded"])
  }

  @Test func `an exchange is repeated where that is asked for`() async throws {
    try await record([("7", "Wei"), ("7", "Wei later")])
    let (transport, client) = try replaying(.byOperation(repeats: true))
    var names: [String] = []
    for _ in 0..<4 { names.append(try await name("7", on: client)) }
    #expect(names == ["Wei", "Wei later", "Wei later", "Wei later"])
    #expect(transport.failures == [])
  }

  @Test func `each exchange is used once by requests at the same time`() async throws {
    try await record((0..<50).map { ("7", "\($0)") })
    let (transport, client) = try replaying(.byOperation())
    let names = try await withThrowingTaskGroup { group in
      for _ in 0..<50 { group.addTask { try await name("7", on: client) } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(names.count == 50)
    #expect(transport.failures == [])
  }

  @Test func `header fields are compared if they are named`() async throws {
    let german: HTTPHeaders = ["Accept-Language": "de", "Authorization": "Bearer CANARY-1"]
    try await folder.record(.get("https://h.example/", headers: german), response: .json("{}"))
    let (transport, _) = try replaying(.strict, comparing: ["Accept-Language", "Authorization"])
    let english: HTTPHeaders = ["Accept-Language": "en", "Authorization": "Bearer CANARY-2"]
    let error = await transport.send(try .get("https://h.example/", headers: english)).collect(upTo: 9).failure
    #expect(
      (error?.cause as? CassetteMismatch)?.differences == ["header Accept-Language: recorded de, requested en"])
    let other: HTTPHeaders = ["Accept-Language": "de", "Authorization": "Bearer CANARY-3"]
    _ = try await transport.send(.get("https://h.example/", headers: other)).collect(upTo: 9).value
    #expect(!everythingShown(of: transport.failures).contains("CANARY"))
  }

  @Test func `failures are replayed with their kind, their reach and their pause`() async throws {
    var error = RequestError(.rateLimited, "Too many requests.", status: 429, excerpt: "later")
    error.retryAfter = .milliseconds(1500)
    try await folder.record(.get("https://h.example/"), response: .failure(error))
    let (transport, _) = try replaying(.strict)
    let replayed = await transport.send(try .get("https://h.example/")).collect(upTo: 9).failure
    #expect(replayed?.kind == .rateLimited)
    #expect(replayed?.reached == .rejected)
    #expect(replayed?.status == 429)
    #expect(replayed?.retryAfter == .milliseconds(1500))
    #expect(replayed?.message == error.message)
    #expect(replayed?.excerpt == "later")
  }

  @Test func `a response that was cut is replayed up to the cut`() async throws {
    let cut = ScriptedResponse.json(#"{"a": "#).thenFailing(RequestError(.connectionLost, "It was cut."))
    try await folder.record(.get("https://h.example/"), response: cut)
    let (transport, _) = try replaying(.strict)
    let observer = TestScheduler().observe(transport.send(try .get("https://h.example/")))
    #expect(observer.elements.last == .body(Data(#"{"a": "#.utf8)))
    #expect(observer.elements.count == 2)
    guard case .error(let end as RequestError)? = observer.events.last?.event else {
      Issue.record("It does not fail: \(observer.events)")
      return
    }
    #expect(end.kind == .connectionLost)
    #expect(end.reached == .maybe)
  }

  @Test func `a refused connection is recorded without the port, which is another each time`() async throws {
    let refused = RequestError(.cannotConnect, "No connection to 127.0.0.1:4711: refused.")
    try await folder.record(.get("http://127.0.0.1:4711/"), response: .failure(refused))
    #expect(try !folder.text().contains("4711"))
  }

  @Test func `an exchange that was left open stays open after what had come`() async throws {
    let scripted = ScriptedTransport(
      always: .response(headers: ["Content-Type": "text/event-stream"], body: Data("data: 1\n\n".utf8)).then(.never))
    let recorder = RecordingTransport(scripted, to: folder.file)
    let request = try HTTPRequest.get("https://h.example/")
    let subscription = recorder.send(request).subscribe()
    subscription.dispose()
    try recorder.finish()
    let scheduler = TestScheduler()
    let transport = ReplayingTransport(try Cassette(contentsOf: folder.file), scheduler: scheduler)
    let observer = scheduler.observe(transport.send(request))
    #expect(observer.elements.last == .body(Data("data: 1\n\n".utf8)))
    #expect(observer.events.count == 2)
    scheduler.run()
    #expect(observer.events.count == 3)  // The idle deadline ends it, as it would have ended the real one.
  }

  @Test func `an upload is recorded as one, without its bytes`() async throws {
    var request = try HTTPRequest.post("", headers: ["Content-Type": "multipart/form-data; boundary=1234"])
    request.body = nil
    var upload = HTTPUpload()
    upload.append(Data("CANARY".utf8))
    request.upload = upload
    let server = SendsUploads()
    let recorder = RecordingTransport(server, to: folder.file)
    _ = try await recorder.send(request).collect(upTo: 9).value
    try recorder.finish()
    #expect(try folder.text().contains(#""upload": true"#))
    #expect(try !folder.text().contains("1234"))
    let (transport, _) = try replaying(.strict)
    _ = try await transport.send(request).collect(upTo: 9).value
    #expect(transport.failures == [])
  }

  private struct SendsUploads: HTTPTransport {
    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { .just(.head(HTTPResponseHead(status: 204))) }
  }

  @Test func `any header that a server may send can be replayed`() async throws {
    let headers = HTTPHeaders([try HTTPField(name: "Server", value: "a"), try HTTPField(name: "Via", value: "b: c, d")])
    try await folder.record(.get("https://h.example/"), response: .response(headers: headers))
    let (transport, _) = try replaying(.strict)
    let response = try await transport.send(.get("https://h.example/")).collect(upTo: 9).value
    #expect(response.head.headers == headers)
  }
}
