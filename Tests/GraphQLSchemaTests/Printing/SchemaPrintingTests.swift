import Foundation
import GraphQLSchema
import StrictJSON
import TestSupport
import Testing

@Suite struct SchemaPrintingTests {
  private func sdls() throws -> [String] {
    [
      try String(contentsOf: Corpus.folder.appendingPathComponent("schema.graphql"), encoding: .utf8),
      try String(contentsOf: RepositoryLayout.schema, encoding: .utf8),
      #"""
      """The "API"."""
      schema { query: Root }
      """
      A line,
        an indented one, and a \""".
      """
      type Root implements B & A { b(y: Int = 1, x: [In!] = [{ a: "\"" }]): Int a: U }
      interface A { a: U }
      interface B { b(x: [In!] = [{ a: "\"" }], y: Int = 1): Int }
      union U = Root | Other
      type Other { """of Other""" x: Int @deprecated(reason: "gone") y: E }
      enum E { Z Y @deprecated }
      input In { a: String = "x", b: Int @deprecated(reason: "b") }
      input One @oneOf { a: In b: String }
      scalar S @specifiedBy(url: "https://example.com")
      directive @d(b: Int, a: One) repeatable on OBJECT | FIELD
      """#,
    ]
  }

  private struct Request: Encodable {
    var sdl: String?
    var introspection: JSONValue?
  }

  @Test
  func
    `a sorted schema is printed as graphql-core prints it, and its introspection gives graphql-core the same schema`()
    async throws
  {
    let schemas = try sdls().map { try Schema(parsing: $0) }
    let introspections = try schemas.map { Request(introspection: try #require($0.introspection().data?.json)) }
    let requests = try sdls().map { Request(sdl: $0) } + introspections
    let printed = try await GraphQLCore.run("print_schema", requests, as: String.self)
    #expect(printed.count == requests.count)
    for (schema, text) in zip(schemas + schemas, printed) { #expect(schema.printed(.sorted) == text) }
  }

  @Test func `the introspection of graphql-core gives the schema that it came from`() async throws {
    let responses = try await GraphQLCore.run("introspect", try sdls(), as: JSONValue.self)
    for (sdl, response) in zip(try sdls(), responses) {
      let schema = try Schema(introspection: response.json().bytes)
      #expect(schema.problems.isEmpty)
      #expect(schema.printed(.sorted) == (try Schema(parsing: sdl).printed(.sorted)))
    }
  }

  @Test func `a printed schema is read and printed as the same, in both orders, with its extensions and directives`()
    throws
  {
    for sdl in try sdls() + ["type Query { a: Int } extend type Query @x { b: Int } directive @x on OBJECT"] {
      for order in [Schema.Order.asWritten, .sorted] {
        let printed = try Schema(parsing: sdl).printed(order)
        let again = try Schema(parsing: printed)
        #expect(again.problems.isEmpty)
        #expect(again.printed(order) == printed)
      }
    }
    let extended = try Schema(parsing: "type Query { a: Int } extend type Query @x { b: Int } directive @x on OBJECT")
    #expect(extended.printed() == "directive @x on OBJECT\n\ntype Query @x {\n  a: Int\n  b: Int\n}")
  }
}
