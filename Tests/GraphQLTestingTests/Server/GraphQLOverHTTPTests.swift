import Foundation
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import StrictJSON
import Testing

@Suite struct GraphQLOverHTTPTests {
  private let server: TestServer
  private let url: URL

  init() throws {
    let schema = try Schema(
      parsing: """
        type Query { echo(text: String!): String failing: Int strict: Int! }
        type Mutation { set(value: Int!): Int! }
        type Subscription { changes: Int }
        """)
    server = TestServer(schema: schema)
    try server.resolve("Query.echo") { $0.arguments["text"] ?? .null }
    try server.resolve("Mutation.set") { $0.arguments["value"] ?? .null }
    try server.fail("Query.failing")
    try server.fail("Query.strict")
    url = try #require(URL(string: "https://example.com/graphql"))
  }

  private func post(
    _ body: String, accept: String? = "application/graphql-response+json", contentType: String? = "application/json"
  ) throws -> HTTPResponse {
    var headers = HTTPHeaders()
    if let accept { try headers.set("Accept", to: accept) }
    if let contentType { try headers.set("Content-Type", to: contentType) }
    return server.respond(to: try HTTPRequest(method: .post, url: url, headers: headers, body: Data(body.utf8)))
  }

  private func get(_ items: [String: String], accept: String = "application/json") throws -> HTTPResponse {
    var components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
    components.queryItems = items.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
    // A plus sign would stand for a space.
    let query = components.percentEncodedQuery?.replacing("+", with: "%2B")
    components.percentEncodedQuery = query
    var headers = HTTPHeaders()
    try headers.set("Accept", to: accept)
    return server.respond(to: try HTTPRequest(method: .get, url: #require(components.url), headers: headers))
  }

  private func json(_ response: HTTPResponse) throws -> JSONValue { try JSONValue(json: response.body.bytes) }

  @Test func `a POST is executed with its variables and operation name`() throws {
    let response = try post(
      #"{"query": "query A($t: String!) { echo(text: $t) } query B { failing }", "operationName": "A", "variables": {"t": "hi"}}"#
    )
    #expect(response.head.status == 200)
    #expect(response.head.mediaType == "application/graphql-response+json")
    #expect(try json(response) == ["data": ["echo": "hi"]])
    #expect(server.requests.count == 1)
  }

  @Test func `a GET is executed, but never a mutation`() throws {
    let response = try get([
      "query": "query($t: String!) { echo(text: $t) }", "variables": #"{"t": "a+b"}"#, "operationName": "",
    ])
    #expect(try json(response) == ["data": ["echo": "a+b"]])
    let mutation = try get(["query": "mutation { set(value: 1) }"])
    #expect(mutation.head.status == 405)
    #expect(mutation.head.headers["Allow"] == "POST")
    let other = server.respond(to: try HTTPRequest(method: .put, url: url))
    #expect(other.head.status == 405)
    #expect(other.head.headers["Allow"] == "GET, POST")
  }

  @Test(arguments: [true, false])
  func `the status says how far a request came, by the media type`(isNew: Bool) throws {
    let accept = isNew ? "application/graphql-response+json" : "application/json"
    func status(_ body: String) throws -> Int { try post(body, accept: accept).head.status }
    #expect(try status("{") == 400)
    #expect(try status("{}") == 400)
    #expect(try status(#"{"query": 1}"#) == 400)
    #expect(try status(#"{"query": "{ echo", "variables": null}"#) == (isNew ? 400 : 200))
    #expect(try status(#"{"query": "{ ecco }"}"#) == (isNew ? 422 : 200))
    #expect(try status(#"{"query": "query($t: String!) { echo(text: $t) }"}"#) == (isNew ? 422 : 200))
    #expect(try status(#"{"query": "query A { failing } query B { failing }"}"#) == (isNew ? 422 : 200))
    #expect(try status(#"{"query": "{ failing }"}"#) == (isNew ? 294 : 200))
    #expect(try status(#"{"query": "{ strict }"}"#) == (isNew ? 294 : 200))
    #expect(try status(#"{"query": "subscription { changes }"}"#) == (isNew ? 422 : 200))
  }

  @Test func `errors of documents have messages and places, and no data`() throws {
    let invalid = try json(post(#"{"query": "{ ecco }"}"#))
    #expect(invalid["data"] == nil)
    #expect(
      invalid["errors"] == [
        ["message": "Query has no field \"ecco\". Did you mean \"echo\"?", "locations": [["line": 1, "column": 3]]]
      ])
    let failed = try json(post(#"{"query": "{ strict }"}"#))
    #expect(failed["data"] == JSONValue.null)
    #expect(failed["errors"]?.arrayValue?.first?["path"] == ["strict"])
  }

  @Test func `the media type is negotiated`() throws {
    let body = #"{"query": "{ __typename }"}"#
    func type(_ accept: String?) throws -> String? { try post(body, accept: accept).head.mediaType }
    #expect(try type(nil) == "application/json")
    #expect(try type("*/*") == "application/json")
    #expect(try type("application/json, application/graphql-response+json") == "application/graphql-response+json")
    #expect(try type("application/graphql-response+json;q=0.5, application/json;q=0.9") == "application/json")
    #expect(try post(body, accept: "text/html").head.status == 406)
    #expect(try post(body, accept: "application/json;q=0").head.status == 406)
    #expect(try post(body, contentType: "application/json; charset=utf-8").head.status == 200)
    #expect(try post(body, contentType: "text/plain").head.status == 415)
    #expect(try post(body, contentType: nil).head.status == 415)
  }

  @Test func `a batch is responded to in order`() throws {
    let response = try post(
      #"[{"query": "{ echo(text: \"a\") }"}, {"query": "{ nope }"}, {"query": "mutation { set(value: 3) }"}]"#)
    let list = try #require(try json(response).arrayValue)
    #expect(response.head.status == 200)
    #expect(list.count == 3)
    #expect(list[0] == ["data": ["echo": "a"]])
    #expect(list[2] == ["data": ["set": 3]])
    #expect(list[1]["errors"]?.arrayValue?.count == 1)
    #expect(try post("[]").head.status == 400)
    #expect(try post(#"[{"query": "{ __typename }"}, 1]"#).head.status == 400)
  }

  @Test func `a subscription is an event stream of the events that its closure returns`() throws {
    func events(_ query: String) throws -> String {
      let response = try post("{\"query\": \"\(query)\"}", accept: "text/event-stream")
      #expect(response.head.status == 200)
      #expect(response.head.mediaType == "text/event-stream")
      return String(decoding: response.body, as: UTF8.self)
    }
    let end = "event: complete\ndata:\n\n"
    #expect(try events("subscription { changes }").hasPrefix("event: next\ndata: {\"data\":{\"changes\":"))
    try server.resolve("Subscription.changes") { _ in [1, .null, 3] }
    #expect(
      try events("subscription { changes }") == [1, nil, 3].map { (value: Int?) in
        "event: next\ndata: {\"data\":{\"changes\":\(value.map(String.init) ?? "null")}}\n\n"
      }.joined() + end)
    try server.resolve("Subscription.changes") { _ in [] }
    #expect(try events("subscription { changes }") == end)
    try server.fail("Subscription.changes", "no changes")
    #expect(try events("subscription { changes }").contains("no changes"))
    #expect(try events("subscription { nope }").contains("no field"))
    #expect(try events("{ __typename }") == "event: next\ndata: {\"data\":{\"__typename\":\"Query\"}}\n\n" + end)
  }
}
