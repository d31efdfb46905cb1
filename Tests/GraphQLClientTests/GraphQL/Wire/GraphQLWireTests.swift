import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite("how GraphQL operations travel")
struct GraphQLWireTests {
  private let transport = ScriptedTransport(always: .wholeThing)

  private func client(_ wire: GraphQLWire) throws -> APIClient {
    var client = try GraphQLClientTestSupport.client(transport)
    client.graphQL.wire = wire
    return client
  }

  /// A query whose variables make its URL as long as needed.
  private struct GetLong: GraphQLSession {
    struct Variables: Encodable, Sendable { let text: String }
    typealias ResponseData = GetThing.ResponseData
    static let query: GraphQLDocument = "query getLong($text: String) { thing(text: $text) { name count } }"
    let variables: Variables
    var wire: GraphQLWire?

    init(count: Int, wire: GraphQLWire? = nil) {
      variables = Variables(text: String(repeating: "a", count: count))
      self.wire = wire
    }
  }

  @Test func `G5: a client sends queries by GET, and mutations by POST`() async throws {
    let client = try client(.get)
    _ = try await GetThing().post(on: client).value
    _ = try await GetThing().data(on: client).value
    _ = try await ChangeThing().post(on: client).value
    #expect(transport.requests.map(\.method) == [.get, .get, .post])
    #expect(transport.requests[0].queryItems == ["query": GetThing.query.text, "operationName": "getThing"])
    #expect(transport.requests[2].bodyJSON?["query"] == .string(ChangeThing.query.text))
    // Which is still refused where GET is asked for.
    #expect(await ChangeThing().get(on: client).failure?.kind == .invalidRequest)
    #expect(await RunOne(operationName: "write").get(on: client).failure?.kind == .invalidRequest)
    #expect(transport.requests.count == 3)
  }

  @Test func `a query with a longer URL than the limit is sent by POST, even if GET is asked for`() async throws {
    var client = try client(.get)
    _ = try await GetLong(count: 1).post(on: client).value
    let length = try #require(transport.onlyRequest).url.absoluteString.utf8.count
    client.graphQL.wire.urlLimit = length + 9
    for count in [10, 11] { _ = try await GetLong(count: count).post(on: client).value }
    for count in [10, 11] { _ = try await GetLong(count: count).get(on: client).value }
    #expect(transport.requests.dropFirst().map(\.method) == [.get, .post, .get, .post])
    #expect(transport.requests[1].url.absoluteString.utf8.count == length + 9)
    #expect(transport.requests[2].bodyJSON?["variables"] == ["text": .string(String(repeating: "a", count: 11))])
    #expect(transport.requests[2].headers["Content-Type"] == "application/json")
    #expect(transport.requests[2].url.query() == nil)
    #expect(transport.requests[2].isReplayable)
  }

  @Test func `the limit of URLs is 4 KiB unless set`() async throws {
    let client = try client(.get)
    for count in [3000, 4096] { _ = try await GetLong(count: count).post(on: client).value }
    #expect(transport.requests.map(\.method) == [.get, .post])
  }

  @Test func `a GET has what servers require against forged requests`() async throws {
    let client = try client(.get)
    _ = try await GetThing().post(on: client).value
    let headers = try #require(transport.onlyRequest).headers
    #expect(headers["Apollo-Require-Preflight"] == "true")
    #expect(headers["GraphQL-Require-Preflight"] == "1")
    #expect(headers["X-GraphQL-Yoga-CSRF"] == "1")
    #expect(headers["Content-Type"] == nil)
  }

  @Test func `a session has settings of its own`() async throws {
    _ = try await GetLong(count: 1, wire: .get).post(on: client(.post)).value
    _ = try await GetLong(count: 1, wire: .post).post(on: client(.get)).value
    _ = try await GetLong(count: 1, wire: .trustedDocuments(.documentID)).post(on: client(.get)).value
    #expect(transport.requests.map(\.method) == [.get, .post, .get])
    #expect(transport.requests[2].queryItems["documentId"] == "sha256:" + GetLong.query.sha256)
  }

  @Test func `a query with files is sent by POST, as a form with its document`() async throws {
    struct Check: GraphQLSession {
      struct Variables: Encodable, Sendable { let file: GraphQLUpload }
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query check($file: Upload!) { thing(like: $file) { name count } }"
      let variables = Variables(file: GraphQLUpload(HTTPUpload(), fileName: "a"))
    }
    for wire in [GraphQLWire.get, .persistedQueries()] {
      let request = try Check().makeRequest(APICall(.post, on: client(wire)))
      #expect(request.method == .post)
      #expect(request.upload != nil)
      #expect(request.url.query() == nil)
    }
    #expect(await Check().get(on: try client(.get)).failure?.kind == .invalidRequest)
  }

  @Test(arguments: [GraphQLWire.get, .persistedQueries(), .trustedDocuments(.apollo)])
  func `S4: a query with secrets is sent by POST, since servers and proxies log URLs`(wire: GraphQLWire) async throws {
    struct Check: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query check($code: String) { thing(code: $code) { name count } }"
      let variables = ["code": "correct horse"]
      let secrets = ["correct horse"]
    }
    struct GetSecret: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query secret { thing { name count } }"
      let isResponseSecret = true
    }
    let client = try client(wire)
    _ = try await Check().post(on: client).value
    _ = try await GetSecret().post(on: client).value
    #expect(transport.requests.map(\.method) == [.post, .post])
    #expect(transport.requests.allSatisfy { $0.url.query() == nil })
  }

  @Test func `G12: a trusted document travels as its id alone, in the shape that is chosen`() async throws {
    let hash = GetThing.query.sha256
    let shapes: [(TrustedDocumentShape, JSONValue)] = [
      (.documentID, ["documentId": .string("sha256:" + hash), "operationName": "getThing"]),
      (
        .apollo,
        ["operationName": "getThing", "extensions": ["persistedQuery": ["version": 1, "sha256Hash": .string(hash)]]]
      ),
      (.relay(), ["doc_id": .string(hash), "operationName": "getThing"]),
      (.relay(parameter: "id"), ["id": .string(hash), "operationName": "getThing"]),
    ]
    for (shape, members) in shapes {
      let client = try client(.trustedDocuments(shape, byGET: false))
      _ = try await GetThing().post(on: client).value
      #expect(transport.requests.last?.bodyJSON == members)
      _ = try await GetThing().get(on: client).value
      let items = transport.requests.last?.queryItems ?? [:]
      #expect(items["query"] == nil)
      #expect(items.values.contains { $0.contains(hash) })
      _ = try await ChangeThing().post(on: client).value
      #expect(transport.requests.last?.bodyText?.contains("mutation") == false)
    }
  }

  @Test func `ids come from a manifest, and a document that it lacks is not sent`() async throws {
    let json = """
      {"format": "apollo-persisted-query-manifest", "version": 1, "operations": [
        {"id": "thing-1", "name": "getThing", "type": "query", "body": "\(GetThing.query.text)"}]}
      """
    let manifest = try GraphQLManifest(json: Data(json.utf8))
    let client = try client(.trustedDocuments(.documentID, ids: manifest))
    _ = try await GetThing().post(on: client).value
    #expect(transport.onlyRequest?.queryItems == ["documentId": "thing-1", "operationName": "getThing"])
    let error = await ChangeThing().post(on: client).failure
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("'changeThing'") == true)
    #expect(transport.requests.count == 1)
  }

  @Test func `G12: what the server refuses of trusted documents is an error, and nothing is sent again`() async throws {
    for code in ["PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_IN_LIST", "PERSISTED_QUERY_ID_REQUIRED"] {
      let transport = ScriptedTransport(
        always: .graphQL(#"{"errors":[{"message":"no","extensions":{"code":"\#(code)"}}]}"#, status: 400))
      var client = try GraphQLClientTestSupport.client(transport)
      client.graphQL.wire = .trustedDocuments(.apollo)
      #expect(await GetThing().post(on: client).failure?.graphQLErrors.first?.code == code)
      #expect(transport.requests.count == 1)
    }
  }

  @Test func `a manifest is read as it is written, in both formats`() throws {
    let manifest = try GraphQLManifest([GetThing.query, ChangeThing.query, GetThing.query])
    #expect(manifest.operations.map(\.name) == ["changeThing", "getThing"])
    #expect(manifest.operations.map(\.type) == ["mutation", "query"])
    #expect(manifest.operations[1].id == GetThing.query.sha256)
    #expect(manifest.operations[1].body == GetThing.query.text)
    #expect(try GraphQLManifest(json: manifest.json(.apollo)) == manifest)
    let relay = try manifest.json(.relay)
    #expect(try JSONValue(json: relay.bytes)[GetThing.query.sha256] == .string(GetThing.query.text))
    #expect(try GraphQLManifest(json: relay).id(of: ChangeThing.query) == ChangeThing.query.sha256)
  }

  @Test(arguments: ["[]", "{", #"{"operations":[{"id":"a"}]}"#, #"{"operations":[1]}"#])
  func `what is no manifest is refused`(text: String) {
    #expect { try GraphQLManifest(json: Data(text.utf8)) } throws: { ($0 as? RequestError)?.kind == .undecodable }
  }

  @Test(arguments: [
    (
      #"{"operations":[{"id":"a1","body":"{a}"},{"id":"b2","body":"{b}"},{"id":"c3","body":"{a}"}]}"#, ["'a1'", "'c3'"]
    ),
    (#"{"a1":"{a}","c3":"{a}"}"#, ["'a1'", "'c3'"]), (#"{"a1":"{a}","a1":"{b}"}"#, ["'a1'", "two documents"]),
    (#"{"operations":[{"id":"a1","body":"{a}"},{"id":"a1","body":"{b}"}]}"#, ["'a1'", "two documents"]),
  ])
  func `a manifest with two ids for a document, or two documents for an id, is refused with the ids`(
    text: String, named: [String]
  ) throws {
    let error = #expect(throws: RequestError.self) { try GraphQLManifest(json: Data(text.utf8)) }
    #expect(error?.kind == .undecodable)
    #expect(named.allSatisfy { error?.message.contains($0) == true })
  }

  @Test func `an operation that a manifest has twice counts once`() throws {
    let operation = #"{"id":"a1","name":"a","type":"query","body":"query a {a}"}"#
    let manifest = try GraphQLManifest(json: Data("{\"operations\":[\(operation),\(operation)]}".utf8))
    #expect(manifest.operations.map(\.id) == ["a1"])
    #expect(manifest.id(of: "query a {a}") == "a1")
  }

  @Test func `a manifest takes no text without an operation`() {
    #expect { try GraphQLManifest(["fragment f on Thing { name }"]) } throws: {
      ($0 as? RequestError)?.kind == .invalidRequest
    }
    #expect { try GraphQLManifest(["query {"]) } throws: { ($0 as? RequestError)?.message.contains("line 1") == true }
  }
}
