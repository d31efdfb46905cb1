import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import Streams
import Testing

@Suite struct GraphQLDocumentTests {
  /// Kinds and names, such as `query a, mutation`.
  private func operations(_ document: GraphQLDocument) -> String {
    document.operations.map { $0.kind.rawValue + ($0.name.map { " \($0)" } ?? "") }.joined(separator: ", ")
  }

  @Test func `the kind and the name of an operation are known`() {
    #expect(operations("query getUser { user { name } }") == "query getUser")
    #expect(operations("mutation like($id: ID!) { like(id: $id) }") == "mutation like")
    #expect(operations("subscription _s1 { a }") == "subscription _s1")
  }

  @Test func `an operation may have no name`() {
    #expect(operations("{ a }") == "query")
    #expect(operations("query { a }") == "query")
    #expect(operations("mutation($a: Int) { a }") == "mutation")
    #expect(operations("query @live { a }") == "query")
    #expect(operations("  \u{FEFF}\n{a}") == "query")
  }

  @Test func `several operations and fragments keep their order`() {
    let document: GraphQLDocument = """
      fragment f on User { name }
      query a { ...f }
      mutation b { b }
      subscription c { c }
      query d { d { ... on User { name } } }
      """
    #expect(operations(document) == "query a, mutation b, subscription c, query d")
  }

  @Test func `keywords are names like others where a name stands`() {
    #expect(operations("query mutation { subscription query(mutation: $query) { fragment } }") == "query mutation")
    #expect(operations("fragment mutation on query { query } query q { a }") == "query q")
    #expect(operations("query q($mutation: mutation!, $a: [query!]!) @query(mutation: 1) { a }") == "query q")
  }

  @Test func `comments do not count`() {
    let document: GraphQLDocument = """
      # mutation no { a } "
      query # mutation
        yes # {
      { a # } mutation no { b }
        # \"""
      }
      """
    #expect(operations(document) == "query yes")
    #expect(operations("#\u{301} mutation no { a }\nquery yes { a }") == "query yes")
    #expect(operations("# a\u{2028} mutation no { a }\rquery yes { a }") == "query yes")
  }

  @Test func `texts do not count`() {
    #expect(operations(#"query q { a(b: "} mutation no { c") { d } }"#) == "query q")
    #expect(operations(#"query q { a(b: "\"} mutation no { c \\") } mutation yes { e }"#) == "query q, mutation yes")
    #expect(operations(#"query q { a(b: "") } mutation yes { e }"#) == "query q, mutation yes")
    #expect(operations("query q { a(b: \"\u{301}} mutation no {\") { d } }") == "query q")
    #expect(operations("query q { a(b: \"\u{301}{\") } mutation yes { d }") == "query q, mutation yes")
  }

  @Test func `block texts do not count`() {
    let document: GraphQLDocument = #"query q { a(b: """} "mutation" no { \""" } "" c""") } mutation yes { d }"#
    #expect(operations(document) == "query q, mutation yes")
    #expect(operations(#"query q { a(b: """ \ """) } mutation yes { d }"#) == "query q, mutation yes")
    #expect(operations(#"query q { a(b: """ \\""" } mutation no { """) }"#) == "query q")
    #expect(operations("\"\"\" mutation no { a } \"\"\" query q { a }") == "query q")
  }

  @Test func `default values, lists and objects do not end an operation`() {
    let document: GraphQLDocument = """
      query q($a: In = {x: {y: [1, 2]}}, $b: [Int!]! = [1]) @d(o: {mutation: {p: 1}}) { a(in: {b: {c: 1}}) { d } }
      mutation m { a }
      """
    #expect(operations(document) == "query q, mutation m")
  }

  @Test func `fragments are added after the document`() {
    let document: GraphQLDocument = "query q { ...f }" + "fragment f on User { name }"
    #expect(document.text == "query q { ...f }\nfragment f on User { name }")
    #expect(operations(document) == "query q")
    #expect(operations("query q { ...f } # end" + "fragment f on User { name } query r { a }") == "query q, query r")
  }

  @Test func `a fragment that several others spread stands in the document once`() {
    let user: GraphQLDocument = "fragment user on User { name }"
    let post: GraphQLDocument = "fragment post on Post { author { ...user } }" + user
    let comment: GraphQLDocument = "fragment comment on Comment { author { ...user } }" + user
    let document = "query q { posts { ...post } comments { ...comment } }" + post + comment
    #expect(document.text.components(separatedBy: "fragment user on").count == 2)
    let lines = document.text.split(separator: "\n").map { $0.prefix(10) }
    #expect(lines == ["query q { ", "fragment p", "fragment u", "fragment c"])
    #expect(operations(document) == "query q")
    #expect((document + comment + user).text == document.text)
  }

  @Test func `a text that is no document has no operation, and does not trap`() {
    let documents: [GraphQLDocument] = [
      "", "}}}", "{{{", "\"", "\"\"\"", "\"\\", "\"\"\"\\\"\"\"", "#", "query", ")](", "type Query { a: Int }", "\u{0}",
      "早", "query a { b } }",
    ]
    for document in documents { #expect(document.operations.isEmpty) }
  }

  @Test func `a request of a document that is not GraphQL fails with the place and what was expected there`()
    async throws
  {
    struct Misspelt: GraphQLSession {
      typealias ResponseData = [String: String]
      static let query: GraphQLDocument = """
        query misspelt {
          name(id: )
        }
        """
    }
    let transport = ScriptedTransport()
    let client = try APIClient(baseURL: #require(URL(string: "https://h.example/")), transport: transport)
    let error = await #expect(throws: RequestError.self) { try await Misspelt().data(on: client).value }
    #expect(error?.kind == .invalidRequest)
    #expect(
      error?.message
        == "The document of 'Misspelt' is not GraphQL: line 2, column 12: expected a value, found \")\".")
    #expect(transport.requests.isEmpty)
  }
}
