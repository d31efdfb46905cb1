import GraphQLGeneration
import Testing

@Suite struct FilesTests {
  @Test(arguments: [
    (GenerationConfiguration.AccessLevel.public, "public import StrictJSON"), (.package, "import StrictJSON"),
    (.internal, "import StrictJSON"),
  ])
  func `a conformance is shown to other packages only`(access: GenerationConfiguration.AccessLevel, statement: String)
    throws
  {
    let schema = "type Query { count(role: Role!): Int! } enum Role { ADMIN }"
    let text = try Sample.shared("query A($role: Role!) { count(role: $role) }", schema: schema) { $0.access = access }
    #expect(text.split(separator: "\n").contains(Substring(statement)))
  }

  @Test func `a session without a struct of its own imports no JSON`() throws {
    let code = try Sample.code("query A { ...F }", "fragment F on Query { users { id } }")
    #expect(!code.files[0].text.contains("StrictJSON"))
    #expect(code.files[1].text.contains("public import StrictJSON"))
  }

  @Test(arguments: [false, true])
  func `a document without operations has a file where a build expects one`(_ isExpected: Bool) throws {
    var types = GenerationSource(name: "b/Types.graphql", text: "extend type User { nick: String }")
    types.alwaysHasFile = isExpected
    let code = try Generator(Sample.configuration()).generate(
      schema: [GenerationSource(name: "schema.graphql", text: Sample.schema)],
      documents: [
        GenerationSource(name: "a/Types.graphql", text: "query A { users { id } }"), types,
        GenerationSource(name: "Last.graphql", text: "query B { users { name } }"),
      ])
    let names = isExpected ? ["a+Types.graphql.swift", "b+Types.graphql.swift"] : ["Types.graphql.swift"]
    #expect(code.files.map(\.name) == (["Last.graphql.swift", "Schema.graphql.swift"] + names).sorted())
    #expect(code.files.first { $0.name.hasPrefix("b+") }.map { $0.text == Generator.head + "\n" } ?? !isExpected)
    #expect(code.operations.map(\.name) == ["A", "B"])
    #expect(code.operations.map(\.file) == [names[0], "Last.graphql.swift"])
  }
}
