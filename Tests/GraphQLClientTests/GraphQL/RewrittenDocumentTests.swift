import Foundation
import GraphQLClientTesting
import HTTPClientCore
import Streams
import StrictJSON
import SystemBase
import Testing

@testable import GraphQLClient

/// A cache sends a session's document with fields of its own.
@Suite struct RewrittenDocumentTests {
  private struct GetThing: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let id: String }
    struct ResponseData: Decodable, Sendable {}
    static let query: GraphQLDocument = "query getThing($id: ID!) { thing(id: $id) { name } }"
    let variables: Variables
  }

  private struct ThingChanged: GraphQLSubscription {
    struct ResponseData: Decodable, Sendable {}
    static let query: GraphQLDocument = "subscription thingChanged { thing { name } }"
  }

  private let text = "query getThing($id: ID!) { thing(id: $id) { __typename id name } }"

  private func client(_ transport: ScriptedTransport) throws -> APIClient {
    var client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    client.graphQL.live = transport
    return client
  }

  private func members(_ request: HTTPRequest?) throws -> [String: JSONValue] {
    let body = try #require(request?.body)
    guard case .object(let members) = try JSONValue(json: body.bytes) else { return [:] }
    return members
  }

  private var rewritten: UndecodedSession<GetThing> {
    UndecodedSession(GetThing(variables: .init(id: "7")), rewritten: GraphQLDocument(rewritten: text))
  }

  @Test func `the rewritten document is sent, with the session's name and variables`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"data": {}}"#))
    _ = try await rewritten.post(on: client(transport)).value
    let sent = try members(transport.requests.first)
    #expect(sent["query"]?.stringValue == text)
    #expect(sent["operationName"]?.stringValue == "getThing")
    #expect(sent["variables"] == ["id": "7"])
  }

  @Test func `a server of persisted queries is asked by the hash of what is sent`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json(#"{"errors": [{"message": "PersistedQueryNotFound"}]}"#))
    transport.expect(.any, .json(#"{"data": {}}"#))
    var client = try client(transport)
    client.graphQL.wire.documents = .automaticallyPersisted
    _ = try await rewritten.post(on: client).value
    let hash = JSONValue.string(GraphQLDocument(rewritten: text).sha256)
    for request in transport.requests {
      let sent = try members(request)
      #expect(sent["extensions"] == ["persistedQuery": ["version": 1, "sha256Hash": hash]])
    }
    #expect(try members(transport.requests.last)["query"]?.stringValue == text)
  }

  @Test func `a subscription sends it, too`() async throws {
    let transport = ScriptedTransport()
    transport.alwaysLive(.any, [.connected, .completed])
    let text = "subscription thingChanged { thing { __typename name } }"
    let session = UndecodedSession(ThingChanged(), rewritten: GraphQLDocument(rewritten: text))
    for try await _ in session.subscribe(on: try client(transport)).values {}
    #expect(try members(transport.subscriptions.first)["query"]?.stringValue == text)
  }
}
