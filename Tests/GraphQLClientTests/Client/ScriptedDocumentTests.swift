import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import Streams
import StrictJSON
import Testing

/// What `failures` says of requests whose documents a server would refuse.
@Suite struct ScriptedDocumentTests {
  private func failures(
    _ document: String, variables: JSONValue = [:], operation: JSONValue = .null, method: HTTPMethod = .post
  ) async throws -> [String] {
    let transport = ScriptedTransport()
    transport.always(.any, .response())
    let body = JSONValue.object(["query": .string(document), "variables": variables, "operationName": operation])
    let url = try #require(URL(string: "https://h.example/"))
    let request = try HTTPRequest(method: method, url: url, body: JSONCoder().encode(body), operationName: "op")
    // Twice, since one problem is one failure.
    for _ in 0..<2 { _ = try await transport.send(request).collect(upTo: 9).value }
    return transport.failures
  }

  @Test(arguments: [
    ("query op { a { ...f } }", "uses the fragment 'f', which the document lacks"),
    ("query op { ...f } fragment f on A { b { ...g } }", "uses the fragment 'g', which the document lacks"),
    ("query op { a } fragment f on A { b }", "has the fragment 'f', which it does not use"),
    ("query op { ...f } fragment f on A { ...f }", "has the fragment 'f', which contains itself"),
    ("query op { ...f } fragment f on A { b } fragment f on A { c }", "has two fragments 'f'"),
    ("query op { ...f } fragment f on A { b(id: $id) } fragment f on A { c }", "has two fragments 'f'"),
    ("query op { a } query op { b }", "has two operations 'op'"),
    ("query op { a(id: $id) }", "uses the variable '$id', which it does not declare"),
    ("query op { ...f } fragment f on A { b(id: $id) }", "uses the variable '$id', which it does not declare"),
    ("query op @live(if: $on) { a }", "uses the variable '$on', which it does not declare"),
    ("query op($id: ID) { a }", "declares the variable '$id', which it does not use"),
    ("query op($id: ID!) { a(id: $id) }", "was sent without the variable '$id', which must have a value"),
    ("query op($id: [ID]!) { a(id: $id) }", "was sent without the variable '$id', which must have a value"),
    ("query op { a", "is not GraphQL: line 1, column 13: expected a selection or \"}\", found the end of the text"),
    ("query op { a(b: [1) }", "is not GraphQL: line 1, column 19: expected a value, found \")\""),
    (
      "{ a } } {",
      "is not GraphQL: line 1, column 7: expected a definition, such as query, fragment or type, found \"}\""
    ),
    ("query op", "is not GraphQL: line 1, column 9: expected \"{\" and a selection, found the end of the text"),
  ])
  func `a document that no server takes is a failure`(document: String, problem: String) async throws {
    #expect(try await failures(document) == ["op \(problem)"])
  }

  @Test(arguments: [
    "{ a }", "query { a }", "mutation op { a }", "query op @live { a @include(if: true) }",
    "query op($id: ID) { a(id: $id) }", "query op($id: [ID!]) { a(id: $id) }", "query op($n: Int! = 3) { a(n: $n) }",
    "query op($f: F = {a: [1, 2], b: \"}\"}, $n: Int @deprecated(reason: \")\")) { a(f: $f, n: $n) }",
    "query op($on: Boolean) @live(if: $on) { a }", "query op { ... on A { b } ... @include(if: true) { c } ...{ d } }",
    "query op { ...f } fragment f on A { b { ...g } } fragment g on B { c }",
    "query op($id: ID) { ...f } fragment f on A { b(id: $id) }", "query op { a(b: \"\"\"}$x...y\"\"\") } # }",
    "query fragment { mutation { query } }",
  ])
  func `a document in order is none`(document: String) async throws {
    #expect(try await failures(document) == [])
  }

  @Test func `a variable that must have a value is missing also where it is null, and only in its operation`()
    async throws
  {
    let document = "query a($id: ID!) { a(id: $id) } query b { b }"
    #expect(try await failures(document, variables: ["id": "7"], operation: "a") == [])
    #expect(try await failures(document, variables: ["id": .null], operation: "a").count == 1)
    #expect(try await failures(document, operation: "b") == [])
  }

  @Test(arguments: [HTTPMethod.post, .get])
  func `variables that a session forgot to send are found`(method: HTTPMethod) async throws {
    struct Forgetful: GraphQLSession {
      typealias ResponseData = [String: String]
      static let query: GraphQLDocument = "query forgetful($id: ID!) { name(id: $id) }"
    }
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"data": {"name": "Wei"}}"#))
    let client = try APIClient(baseURL: #require(URL(string: "https://h.example/")), transport: transport)
    _ = try await Forgetful().data(on: client, method: method).value
    #expect(transport.failures == ["forgetful was sent without the variable '$id', which must have a value"])
  }

  @Test func `a parameter of a REST call that is named query is none of it`() async throws {
    #expect(try await failures("tea { or coffee") == [])
    #expect(try await failures("") == [])
  }
}
