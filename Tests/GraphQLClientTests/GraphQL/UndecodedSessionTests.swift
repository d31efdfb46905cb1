import Foundation
import GraphQLClientTestSupport
import GraphQLClientTesting
import GraphQLLanguage
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@testable import GraphQLClient

/// What a cache that keeps responses as JSON builds on.
@Suite struct UndecodedSessionTests {
  private struct GetThings: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let id: String, first: Int? }
    typealias ResponseData = GetThing.ResponseData
    static let query: GraphQLDocument = """
      query getThings($id: ID!) { thing(id: $id) { ...names count } }
      query others { thing { name } }
      fragment names on Thing { name }
      """
    let variables: Variables
    var headers: HTTPHeaders { get throws { HTTPHeaders([try HTTPField(name: "X-Tenant", value: "t")]) } }
    var errorPolicy = GraphQLErrorPolicy.none
    let secrets = ["correct horse"]
    let idempotencyKey: String? = "key"
    let operationName = "getThings"
    let path = "graphql"
  }

  private let session = GetThings(variables: .init(id: "7", first: nil))

  private static let data = #"{"thing": {"count": 1.0e2, "name":"a","more":12345678901234567890}}"#
  private static let partial = """
    {"data": {"thing": {"name": "a", "count": null}}, "errors": [{"message": "No count.", "path": ["thing", "count"]}]}
    """

  @Test func `the request is the session's`() async throws {
    let transport = ScriptedTransport(always: .json("{\"data\": \(Self.data)}"))
    let client = try client(transport)
    _ = try await UndecodedSession(session).post(on: client).value
    _ = try await UndecodedSession(session).get(on: client).value
    _ = await session.post(on: client).failure
    _ = await session.get(on: client).failure
    let requests = transport.requests
    #expect(requests.count == 4)
    for (raw, own) in zip(requests.prefix(2), requests.suffix(2)) {
      #expect(raw.body == own.body)
      #expect(raw.url == own.url)
      #expect(raw.headers == own.headers)
      #expect(raw.operationName == own.operationName)
      #expect(raw.isReplayable == own.isReplayable)
    }
  }

  @Test(arguments: [false, true])
  func `data stay as they came, byte by byte, whatever decodes bodies`(isFoundation: Bool) async throws {
    var client = try client(ScriptedTransport(always: .json("{\"data\": \(Self.data), \"extensions\": {\"a\": 1}}")))
    if isFoundation { client.decoder = FoundationJSON() }
    let response = try await UndecodedSession(session).post(on: client).value
    #expect(response.data.description == Self.data)
    #expect(response.extensions == ["a": 1])
  }

  @Test func `errors beside the data come with them, and the session's policy treats them where the data are read`()
    async throws
  {
    let client = try client(ScriptedTransport(always: .json(Self.partial)))
    let raw = UndecodedSession(session)
    let response = try await raw.post(on: client).value
    #expect(response.errors.map(\.message) == ["No count."])
    let error = #expect(throws: RequestError.self) { try raw.response(response, by: client.decoder) }
    #expect(error?.kind == .graphQL)
    #expect(error?.operationName == "getThings")
    var lenient = session
    lenient.errorPolicy = .all
    let read = try UndecodedSession(lenient).response(response, by: client.decoder)
    #expect(read == (try await lenient.post(on: client).value))
    #expect(read.data.thing?.name == "a")
  }

  @Test func `data that do not fit are undecodable, with the path that the session names`() async throws {
    let client = try client(ScriptedTransport(always: .json(#"{"data": {"thing": {"name": 7}}}"#)))
    let raw = UndecodedSession(session)
    let response = try await raw.post(on: client).value
    let error = try #require(throws: RequestError.self) { try raw.response(response, by: client.decoder) }
    let own = try #require(await session.post(on: client).failure)
    #expect(error.kind == .undecodable)
    #expect(error.message == own.message)
    #expect(error.operationName == own.operationName)
  }

  @Test func `the response in parts is whole JSON, merged`() async throws {
    struct GetInParts: GraphQLSession {
      struct ResponseData: Decodable, Sendable {}
      static let query: GraphQLDocument = #"query parts { a ... @defer(label: "later") { b } }"#
    }
    let response = ScriptedResponse.json(#"{"data": {"a": 10000000000000000001, "b": 2}}"#)
    let raw = UndecodedSession(GetInParts())
    let data = try await raw.post(on: try client(ScriptedTransport(always: response))).value.data
    #expect(data.description.contains("10000000000000000001"))
  }

  @Test func `the variables are as the request has them`() throws {
    let raw = UndecodedSession(session)
    #expect(try raw.variables(by: JSONCoder()).description == #"{"id":"7"}"#)
  }

  @Test func `a subscription's results stay JSON, too`() async throws {
    let transport = ScriptedTransport()
    var client = try client(transport)
    client.graphQL.live = transport
    transport.alwaysLive(.any, [.json(#"{"data": {"countdown":  3}}"#), .completed])
    let data = try await UndecodedSession(Countdown(3)).data(on: client).values.reduce(into: []) { $0.append($1) }
    #expect(data.map(\.description) == [#"{"countdown":  3}"#])
  }

  @Test func `what an operation selects is found by its name`() throws {
    let selections = try GetThings.query.selections(ofOperation: "getThings")
    let fields = selections.all.compactMap { if case .field(let field) = $0 { field.key } else { nil } }
    #expect(fields == ["thing", "count", "name"])
    let error = #expect(throws: RequestError.self) { try GetThings.query.selections(ofOperation: "missing") }
    #expect(error?.message.contains("no operation named 'missing'") == true)
  }
}
