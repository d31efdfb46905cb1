import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import Streams
import StrictJSON
import TestSupport
import Testing

@Suite struct GraphQLResponseTests {
  private static let partial = """
    {"data": {"thing": {"name": "a", "count": null}},
     "errors": [{"message": "No count.", "path": ["thing", "count"], "extensions": {"code": "DOWN"}}],
     "extensions": {"cost": 3}}
    """

  private func responses(_ response: ScriptedResponse, _ policy: GraphQLErrorPolicy = .none) throws
    -> Observable<GraphQLResponse<GetThing.ResponseData>>
  {
    GetThing(errorPolicy: policy).post(on: try client(ScriptedTransport(always: response)))
  }

  @Test func `G1: errors beside data fail with their paths under the policy none`() async throws {
    let error = try #require(await responses(.json(Self.partial)).failure)
    #expect(error.kind == .graphQL)
    #expect(error.operationName == "getThing")
    #expect(error.graphQLErrors.map(\.path) == [[.key("thing"), .key("count")]])
    #expect(error.graphQLErrors.first?.code == "DOWN")
    #expect(error.message == "No count. (at thing.count) [DOWN]")
    #expect(error.status == 200)
  }

  @Test func `G1: errors beside data are dropped under the policy ignore`() async throws {
    let response = try await responses(.json(Self.partial), .ignore).value
    #expect(response.data.thing?.name == "a")
    #expect(response.errors == [])
    #expect(response.extensions == ["cost": 3])
  }

  @Test func `G1: data and errors are both delivered, with their paths, under the policy all`() async throws {
    let response = try await responses(.json(Self.partial), .all).value
    #expect(response.data == .init(thing: .init(name: "a", count: nil)))
    #expect(response.errors.map(\.message) == ["No count."])
    #expect(response.errors.map(\.pathText) == ["thing.count"])
    #expect(response.extensions == ["cost": 3])
  }

  @Test(arguments: [
    #"{"data": null, "errors": [{"message": "no"}]}"#, #"{"errors": [{"message": "no"}]}"#,
    #"{"errors": [{"message": "no"}], "data": null, "extensions": null}"#,
  ])
  func `G2: errors without data fail under every policy`(json: String) async throws {
    for policy in [GraphQLErrorPolicy.none, .ignore, .all] {
      let error = try await responses(.json(json), policy).failure
      #expect(error?.kind == .graphQL)
      #expect(error?.graphQLErrors.map(\.message) == ["no"])
    }
  }

  @Test(arguments: [
    #"{"data": {"thing": {"name": "a", "count": 1}}, "errors": null}"#,
    #"{"data": {"thing": {"name": "a", "count": 1}}, "errors": []}"#,
    #" {"extensions" : null,"data":{"more":[],"thing":{"count":1,"x":{},"name":"a"}} , "odd": 1}  "#,
  ])
  func `G6: no errors, unknown members and odd white space are whole data`(json: String) async throws {
    #expect(try await responses(.json(json)).value == GraphQLResponse(data: .whole))
  }

  @Test(arguments: [#"{"data": null}"#, "{}", #"{"data": null, "errors": []}"#, #"{"errors": null}"#])
  func `a response with neither data nor errors cannot be read`(json: String) async throws {
    for policy in [GraphQLErrorPolicy.none, .ignore, .all] {
      let error = try await responses(.json(json), policy).failure
      #expect(error?.kind == .undecodable)
      #expect((error?.cause as? DecodingFailure)?.path == "data")
    }
  }

  @Test(arguments: [
    (#"{"data": {"thing": {"count": 1}}}"#, "data.thing.name"),
    (#"{"data": {"thing": {"name": 7}}}"#, "data.thing.name"), (#"{"data": {"thing": []}}"#, "data.thing"),
    (#"{"data": 7}"#, "data"), ("[]", ""), ("", ""), ("<html>", ""),
    (#"{"data": {"thing": null}, "errors": {}}"#, "errors"), (#"{"data": {}, "errors": "no"}"#, "errors"),
  ])
  func `G7: a value that does not fit is an error that names the path`(json: String, path: String) async throws {
    let error = try await responses(.json(json), .all).failure
    #expect(error?.kind == .undecodable)
    #expect((error?.cause as? DecodingFailure)?.path ?? "" == path)
    #expect(error?.operationName == "getThing")
  }

  @Test func `data that does not fit fails with the server's own errors where there are some`() async throws {
    let json = #"{"data": {"thing": {}}, "errors": [{"message": "no name", "path": ["thing", "name"]}]}"#
    for policy in [GraphQLErrorPolicy.none, .ignore, .all] {
      #expect(try await responses(.json(json), policy).failure?.kind == .graphQL)
    }
  }

  @Test(arguments: [200, 201, 400, 401, 404, 500, 503, 302])
  func `G4: a response of GraphQL's own type is parsed at any status`(status: Int) async throws {
    let whole = #"{"data": {"thing": {"name": "a", "count": 1}}}"#
    #expect(try await responses(.graphQL(whole, status: status)).value.data == .whole)
    let failing = #"{"errors": [{"message": "no", "extensions": {"code": "UNAUTHENTICATED"}}]}"#
    let error = try await responses(.graphQL(failing, status: status)).failure
    #expect(error?.kind == .graphQL)
    #expect(error?.status == status)
    #expect(error?.graphQLErrors.first?.code == "UNAUTHENTICATED")
  }

  @Test(arguments: [400, 401, 500])
  func `G4: another type at a failing status is an HTTP error with status and excerpt`(status: Int) async throws {
    let json = #"{"errors": [{"message": "no"}]}"#
    for type in ["application/json", "text/html", nil] as [StaticString?] {
      let headers: HTTPHeaders = type.map { ["Content-Type": $0] } ?? [:]
      let error = try await responses(.response(status: status, headers: headers, body: Data(json.utf8))).failure
      #expect(error?.kind == .httpStatus)
      #expect(error?.status == status)
      #expect(error?.excerpt == json)
      // So that its code can be seen: many servers answer a wrong request like that.
      #expect(error?.graphQLErrors.map(\.message) == (headers["Content-Type"] == "text/html" ? [] : ["no"]))
    }
  }

  @Test func `G4: a proxy's page under GraphQL's type is reported by its status`() async throws {
    let error = try await responses(.graphQL("<html>", status: 502)).failure
    #expect(error?.kind == .httpStatus)
    #expect(error?.status == 502)
    #expect(try await responses(.graphQL("<html>")).failure?.kind == .undecodable)
    #expect(try await responses(.graphQL("", status: 307)).failure?.kind == .redirectRefused)
  }

  private static let thing = #"{"data": {"thing": {"name": "a", "count": 1}}}"#

  @Test(arguments: ["application/json; charset=utf-8", "application/vnd.x+json", "", " ", ";", "; charset=utf-8", nil])
  func `G4: JSON of success is read under its types, and where none is given`(type: String?) async throws {
    for status in [200, 201, 203, 299] {
      let raw = RawResponse(status, contentType: type, body: Self.thing)
      for bytes in [raw.bytes, raw.bytesUntilClose, raw.chunked(size: 7)] {
        let server = try ScriptedServer([.readRequest, .send(bytes), .close])
        let client = try APIClient(baseURL: server.url, transport: SocketTransport())
        #expect(try await GetThing().post(on: client).value.data == .whole)
      }
    }
  }

  @Test(arguments: ["text/html", "text/plain", "text/plain; charset=utf-8", "application/octet-stream", "json"])
  func `G4: a body under another type is not read as a GraphQL response, whatever it is`(type: String) async throws {
    var headers = HTTPHeaders()
    try headers.set("Content-Type", to: type)
    let error = try await responses(.response(headers: headers, body: Data(Self.thing.utf8))).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.message.contains(type.prefix { $0 != ";" }) == true)
  }

  @Test func `a session's data come without their envelope, by its policy`() async throws {
    let partial = ScriptedResponse.json(
      #"{"data": {"thing": {"name": "a", "count": 1}}, "errors": [{"message": "no"}]}"#)
    let transport = ScriptedTransport()
    for answer in [.wholeThing, partial, partial, .json(#"{"data": null}"#)] { transport.expect(.any, answer) }
    let client = try client(transport)
    #expect(try await GetThing().data(on: client).value == .whole)
    #expect(await GetThing().data(on: client).failure?.kind == .graphQL)
    #expect(try await GetThing(errorPolicy: .ignore).data(on: client).value == .whole)
    #expect(await GetThing().data(on: client).failure?.kind == .undecodable)
    #expect(transport.requests.allSatisfy { $0.method == .post })
  }

  @Test func `a response from elsewhere is made by a policy, too`() throws {
    typealias Response = GraphQLResponse<GetThing.ResponseData>
    let errors = [GraphQLError(message: "no")]
    let error = #expect(throws: RequestError.self) { try Response(data: .whole, errors: errors, policy: .none) }
    #expect(error?.graphQLErrors == errors)
    let all = try Response(data: .whole, errors: errors, policy: .all)
    #expect((all.data, all.errors) == (.whole, errors))
    #expect(all.error?.graphQLErrors == errors)
    let ignoring = try Response(data: .whole, errors: errors, policy: .ignore)
    #expect((ignoring.data, ignoring.errors) == (.whole, []))
    #expect(ignoring.error == nil)
    let named = #expect(throws: RequestError.self) { try GetThing().data(of: all) }
    #expect(named?.operationName == "getThing")
    #expect(try GetThing(errorPolicy: .ignore).data(of: all) == .whole)
    for policy in [GraphQLErrorPolicy.none, .ignore, .all] {
      #expect(try Response(data: .whole, errors: [], policy: policy).data == .whole)
      let failure = #expect(throws: RequestError.self) { try Response(data: nil, errors: errors, policy: policy) }
      #expect(failure?.kind == .graphQL)
      let missing = #expect(throws: RequestError.self) { try Response(data: nil, errors: [], policy: policy) }
      #expect(missing?.kind == .undecodable)
    }
  }
}
