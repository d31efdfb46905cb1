import Foundation
import GraphQLGeneration
import Testing

/// What cannot be generated, and what is said of it.
@Suite struct ProblemTests {
  @Test func `an unknown field is an error with its place and what may be meant`() {
    #expect(
      Sample.problems("query A {\n  user(id: 1) { nmae }\n}") == [
        "1.graphql:2:17: error: User has no field \"nmae\". Did you mean \"name\"? [FieldsOnCorrectType]"
      ])
  }

  @Test func `each fault of all files is found in one run, in its file`() {
    let problems = Sample.problems(
      "query A { user(id: 1) { ...f } }\r\n", "# a\rquery B($x: Int) { users { id } }", "fragment f on User { no }",
      "query {")
    #expect(
      problems == [
        "4.graphql:1:8: error: expected a name, found the end of the text [Syntax]"
      ] || problems.first?.hasPrefix("4.graphql:1:8: error:") == true)
    #expect(problems.contains { $0.hasPrefix("2.graphql:2:9: error:") && $0.hasSuffix("[NoUnusedVariables]") })
    #expect(problems.contains { $0.hasPrefix("3.graphql:1:22: error: User has no field \"no\"") })
  }

  @Test func `an operation without a name is refused, and how to name it is said`() {
    #expect(
      Sample.problems("{ users { id } }") == [
        "1.graphql:1:1: error: this query has no name, after which its session could be called: write \"query Name\" [LoneAnonymousOperation]"
      ])
    #expect(Sample.problems("query A { users { id } }", "mutation { rename(id: 1, name: \"\") { id } }").count == 1)
  }

  @Test func `two operations of one name are refused, also if only Swift takes the names for the same`() {
    let same = Sample.problems("query A { users { id } }", "query A { users { name } }")
    #expect(same.count == 1)
    #expect(same.first?.hasSuffix("[UniqueOperationNames]") == true)
    let alike = Sample.problems("query a { users { id } }", "query A { users { name } }")
    #expect(alike.first == "1.graphql:1:1: error: the operation \"a\" has the same Swift name as another: ASession")
  }

  @Test func `a scalar without a type is refused where it is used, and how to map it is said`() {
    let problems = Sample.problems("query A {\n  user(id: 1) { born }\n}") { $0.scalars = [:] }
    #expect(
      problems == [
        "1.graphql:2:17: error: the scalar \"DateTime\" has no Swift type: add \"scalars\": {\"DateTime\": \"String\"} to the "
          + "configuration, or {\"DateTime\": {\"type\": \"TYPE\", \"module\": \"MODULE\"}} for a type that is JSONDecodable"
      ])
    // One that nothing reaches needs none.
    #expect(Sample.problems("query A { users { id } }") { $0.scalars = [:] } == [])
  }

  @Test func `a fragment that no operation uses is noted, and nothing is generated for it`() throws {
    let code = try Sample.code("query A { users { id } }", "fragment f on User { id }")
    #expect(
      code.warnings.map(\.description) == [
        "2.graphql:1:1: warning: no operation uses the fragment \"f\": nothing is generated for it"
      ])
    #expect(code.files.first { $0.name == "2.graphql.swift" }?.text == Generator.head + "\n")
  }

  @Test func `files without operations and fragments are left out, and without any there is nothing to generate`()
    throws
  {
    let code = try Sample.code("query A { users { id } }", Sample.schema)
    #expect(code.files.map(\.name) == ["1.graphql.swift", "Schema.graphql.swift"])
    #expect(Sample.problems(Sample.schema) == ["documents: error: there is no operation in any file"])
  }

  @Test func `a schema that is no GraphQL is refused, and one with faults is used`() throws {
    #expect(
      Sample.problems("query A { a }", schema: "type Query { a: }").first?.hasPrefix("schema.graphql:1:17: error:")
        == true)
    #expect(
      Sample.problems("query A { a }", schema: "{\"data\": 1}").first?.hasPrefix(
        "schema.graphql: error: this is no introspection") == true)
    let code = try Sample.code("query A { a }", schema: "type Query { a: Int b: Missing }")
    #expect(code.warnings.count == 1)
    #expect(code.warnings.first?.severity == .warning)
  }

  @Test func `the file that operations share has its name for itself`() throws {
    do {
      let document = GenerationSource(name: "app/schema.graphql", text: "query A { users { id } }")
      _ = try Generator(Sample.configuration()).generate(
        schema: [GenerationSource(name: "s", text: Sample.schema)], documents: [document])
      Issue.record("it is generated")
    } catch {
      #expect(
        error.description
          == "app/schema.graphql: error: \"Schema.graphql.swift\" is the file for what operations share: rename this one"
      )
    }
  }

  @Test func `values that can be changed cannot be written as they came`() {
    let problems = Sample.problems("query A { users { id } }") {
      $0.isMutable = true
      $0.isEncodable = true
    }
    #expect(problems.first?.contains("\"mutable\" and \"encodable\" exclude each other") == true)
  }

  @Test func `what is selected too deep is refused, before it takes the stack`() {
    let schema = "type Query { a: Query x: Int }"
    func document(_ depth: Int) -> String {
      "query A " + String(repeating: "{ a ", count: depth) + "{ x }" + String(repeating: "}", count: depth)
    }
    #expect(Sample.problems(document(49), schema: schema) == [])
    #expect(
      Sample.problems(document(50), schema: schema) == [
        "1.graphql:1:209: error: more than 50 objects are selected within one another"
      ])
    #expect(Sample.problems(document(190), schema: schema).count == 1)
    // Fragments are structs of their own.
    let chain = (0..<300).map { "fragment f\($0) on Query { a { ...f\($0 + 1) } ...f\($0 + 1) @skip(if: $s) }" }
    let fragments = "query A($s: Boolean!) { ...f0 } fragment f300 on Query { x } " + chain.joined(separator: " ")
    #expect(Sample.problems(fragments, schema: schema).count < 2)
  }

  @Test func `an alias cannot be the name of the field for an object's type`() {
    #expect(
      Sample.problems("query A {\n  users { id __typename: id }\n}") == [
        "1.graphql:2:14: error: \"__typename\" is the name of an object's type, here and for servers and caches: "
          + "choose another alias"
      ])
    #expect(Sample.problems("query A { users { __typename: __typename } }") == [])
  }

  @Test(arguments: [
    "type Query { a: E } enum E @x directive @x on ENUM",
    "type Query { a(b: E): Int } input E @oneOf directive @x on ENUM",
  ])
  func `a type of a faulty schema that no enum can be made of is an error where an operation reaches it`(
    schema: String
  ) {
    let document = schema.contains("input") ? "query Q($b: E) { a(b: $b) }" : "query Q { a }"
    #expect(
      Sample.problems(document, schema: schema).contains(
        "schema: error: E has nothing in it, of which an enum in Swift could be made: use the schema that the server has"
      ))
  }

  @Test func `labels are unique in an operation, and may be the same in others`() throws {
    let schema =
      "directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT\n" + Sample.schema
    let one =
      "query A { users { ...f @defer(label: \"x\") } } query B { users { ...f @defer(label: \"x\") } } fragment f on User { id }"
    #expect(Sample.problems(one, schema: schema) == [])
    let two = "query A { users { ... @defer(label: \"x\") { id } ... @defer(label: \"x\") { name } } }"
    #expect(Sample.problems(two, schema: schema).first?.contains("in the operation \"A\"") == true)
  }

  private static let parts = """
    directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @stream(if: Boolean! = true, label: String, initialCount: Int = 0) on FIELD

    """

  @Test(arguments: [
    #"{ id ... @defer(label: "age") { age } }"#, #"{ age ... @defer(label: "age") { id } }"#,
    #"{ id ... @defer(label: "age", if: false) { age } }"#,
    #"{ ... @defer(label: "x") { age } ... @defer(label: "age") { id } }"#,
    #"{ ...f ... @defer(label: "age") { id } }"#, #"{ friends { age } ... on User { friends { ...g } } }"#,
  ])
  func `a label that is the name of a field of its object is refused, as by a client`(selection: String) throws {
    let document =
      "query A { users \(selection) } fragment f on User { age } fragment g on User { ... @defer(label: \"age\") { id } }"
    let problems = Sample.problems(document, schema: Self.parts + Sample.schema).filter { $0.contains(" error: ") }
    let place = try #require(document.range(of: "@defer(label: \"age\""))
    let column = document.distance(from: document.startIndex, to: place.lowerBound) + 1
    #expect(
      problems == [
        "1.graphql:1:\(column): error: in the operation \"A\", the label \"age\" is also the name of a field of the object, "
          + "in the fragment or beside it: choose another label"
      ])
  }

  @Test func `a label may be the name of a field of another object`() {
    let document = """
      query A {
        users { friends { age } ... @defer(label: "users") { friends { ... @defer(label: "age") { id } } } }
      }
      """
    #expect(Sample.problems(document, schema: Self.parts + Sample.schema) == [])
  }

  @Test(arguments: ["... @defer(if: $a) { name }", "...f", "friends @stream(if: false) { id }"])
  func `a subscription whose results would arrive in parts is refused, as by a client`(selection: String) {
    let document =
      "subscription A($a: Boolean!) { renamed { id @include(if: $a) \(selection) } }\n"
      + "fragment f on User { ... @defer(if: false) { name } }"
    let problems = Sample.problems(document, schema: Self.parts + Sample.schema).filter { $0.contains(" error: ") }
    let place = selection == "...f" ? "2:26" : selection.hasPrefix("...") ? "1:66" : "1:70"
    #expect(
      problems == [
        "1.graphql:\(place): error: in the operation \"A\", the results of a subscription do not arrive in parts: "
          + "take \"@defer\" and \"@stream\" out"
      ])
  }

  @Test func `an operation with a label that is too deep or too large for a client is refused`() {
    let chain = (0..<110).map { "fragment f\($0) on Query { ...f\($0 + 1) }" }.joined(separator: " ")
    let label = "... @defer(label: \"l\") { users { id } }"
    let deep = "query A { ...f0 \(label) } \(chain) fragment f110 on Query { users { id } }"
    let fields = (0..<20_000).map { "a\($0): __typename" }.joined(separator: " ")
    let large = "query A { \(fields) \(label) }"
    for (document, fault) in [
      (deep, "more than 100 selection sets within one another"), (large, "more than 20000 fields"),
    ] {
      let problems = Sample.problems(document, schema: Self.parts + Sample.schema)
      #expect(problems.count == 1)
      #expect(problems.first?.contains("in the operation \"A\", it has \(fault)") == true)
    }
  }
}
