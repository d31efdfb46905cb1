import Foundation
import GraphQLSchema
import Testing

@Suite struct SchemaRulesTests {
  private struct Sample {
    let isValid: Bool
    let sdl: String
  }

  private func samples() throws -> [Sample] {
    try Corpus.parts(of: "schemas.graphql").map { Sample(isValid: $0.isValid, sdl: $0.text) }
  }

  @Test func `a schema of the corpus has a problem if, and only if, it breaks a rule`() throws {
    for sample in try samples() {
      let problems = try Schema(parsing: sample.sdl).problems
      #expect(problems.isEmpty == sample.isValid, "\(sample.sdl) \(problems)")
    }
  }

  @Test func `graphql-core accepts the schemas of the corpus that have no problem, and refuses the others`()
    async throws
  {
    let samples = try samples()
    let responses = try await GraphQLCore.run("check_schema", samples.map(\.sdl), as: Bool.self)
    for (sample, isValid) in zip(samples, responses) { #expect(sample.isValid == isValid, "\(sample.sdl)") }
    #expect(responses.count == samples.count)
  }

  @Test func `a foreign schema's harmless fault is a warning, and has the place`() throws {
    let schema = try Schema(
      parsing: """
        interface I { a: Int }
        type Query implements I {
          a: Int @deprecated
          "The first counts."
          b: Int
          "The second does not."
          b: String @unknown
        }
        """)
    #expect(
      schema.problems.map(\.description) == [
        "warning: the field \"b\" of \"Query\" is defined more than once; the first counts [UniqueFieldDefinitionNames] (5:3)",
        "warning: \"Query.a\" is deprecated, but \"I.a\" is not [DeprecatedImplementations] (3:3)",
        "warning: the schema has no directive \"@unknown\". [KnownDirectives] (7:13)",
      ])
    #expect(schema.type(named: "Query")?.field(named: "b")?.documentation == "The first counts.")
  }

  @Test func `an argument cannot be required that an interface lacks, although one between them has it with a default`()
    throws
  {
    let schema = try Schema(
      parsing: """
        interface A { f: Int } interface B implements A { f(x: Int! = 1): Int }
        type Query implements A & B { f(x: Int!): Int }
        """)
    #expect(
      schema.problems.map(\.description) == [
        "error: the argument \"x\" of \"Query.f\" cannot be required, as \"A.f\" does not have it"
          + " [ImplementedInterfaces] (2:33)"
      ])
  }

  @Test func `types that need themselves without end are found in deep and wide graphs, in about linear time`() throws {
    let chain = (0..<5_000).map { "input I\($0) { next: I\($0 + 1)! }" }.joined(separator: "\n")
    let end = "input I5000 { a: Int } type Query { a(x: I0): Int }"
    #expect(try Schema(parsing: chain + end).problems.isEmpty)
    let loop = "input I5000 { a: I0! } type Query { a(x: I0): Int }"
    #expect(try Schema(parsing: chain + loop).problems.map(\.rule).suffix(2) == ["InputCycles", "Limit"])
    let defaults = (0..<5_000).map { "input I\($0) { next: I\($0 + 1) = {} }" }.joined(separator: "\n")
    #expect(try Schema(parsing: defaults + end).problems.isEmpty)
    #expect(
      try Schema(parsing: defaults + "input I5000 { a: I0 = {} } type Query { a(x: I0): Int }").problems.map(\.rule)
        == ["InputCycles"])
  }
}
