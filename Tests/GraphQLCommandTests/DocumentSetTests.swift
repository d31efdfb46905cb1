import StrictJSON
import Testing

/// Files and folders of documents, which the commands take as one set.
@Suite struct DocumentSetTests {
  private let folder: WorkFolder
  private let schema: String

  init() throws {
    folder = try WorkFolder()
    schema = try folder.file(
      "schema.graphql",
      """
      type Query { user(id: ID!): User, node: Node }
      interface Node { id: ID! }
      type User implements Node { id: ID! name: String old: Int @deprecated }
      """)
  }

  private func validate(_ arguments: String...) async throws -> WorkFolder.Run {
    try await folder.run(["validate", "--schema", schema] + arguments)
  }

  @Test func `an operation uses the fragments of other files, unless files are checked separately`() async throws {
    let operation = try folder.file("a.graphql", "query a { user(id: 1) { ...f } }")
    let fragments = try folder.file("f.graphql", "fragment f on User { name ...g }\n\nfragment g on User { id }\n")
    let together = try await validate(operation, fragments)
    #expect(together.code == 0)
    #expect(together.output.isEmpty)
    #expect(together.errors == "1 operation and 2 fragments in 2 files: no errors, no warnings\n")
    let apart = try await validate("--separately", operation, fragments)
    #expect(apart.code == 65)
    #expect(apart.errors.hasSuffix(": 3 errors, no warnings\n"))
    #expect(apart.output.contains("a.graphql:1:28: error: "))
    #expect(apart.output.contains("[KnownFragmentNames]"))
    #expect(apart.output.contains("f.graphql:1:1: error: "))
    #expect(apart.output.contains("[NoUnusedFragments]"))
  }

  @Test func `a fault in a fragment is reported once, in its own file`() async throws {
    let one = try folder.file("one.graphql", "query a { user(id: 1) { ...f } }\r")
    let two = try folder.file("two.graphql", "query b { user(id: 1) { ...f } }\r\n# the end")
    let fragment = try folder.file("f.graphql", "# a comment\n  fragment f on User { nmae\n\t id, nam }")
    let result = try await validate(one, two, fragment)
    #expect(result.code == 65)
    #expect(result.errors.hasSuffix(": 2 errors, no warnings\n"))
    let heads = result.output.split(separator: "\n").filter { $0.contains("error:") }.map { $0.prefix { $0 != " " } }
    #expect(heads == ["\(fragment):2:24:", "\(fragment):3:7:"])
  }

  @Test func `a conflict between files names both`() async throws {
    let operation = try folder.file("a.graphql", "query a {\n  user(id: 1) { x: id ...f }\n}")
    let fragment = try folder.file("f.graphql", "fragment f on User { x: name }")
    let result = try await validate("--json", operation, fragment)
    let finding = try #require(try JSONValue(json: result.output).arrayValue?.first)
    #expect(result.code == 65)
    #expect(finding["file"]?.stringValue == operation)
    #expect(
      finding["locations"] == [
        ["line": 2, "column": 17], ["file": .string(fragment), "line": 1, "column": 22],
      ])
  }

  @Test func `files keep their own fragments of one name, and a name that could be one of several is an error`()
    async throws
  {
    let one = try folder.file("1.graphql", "query a { user(id: 1) { ...f } }\nfragment f on User { id }")
    let two = try folder.file("2.graphql", "query b { user(id: 1) { ...f } }\nfragment f on User { name }")
    #expect(try await validate(one, two).code == 0)
    let manifest = try await folder.run(["manifest", one, two])
    #expect(manifest.code == 0)
    #expect(manifest.output.contains(#"{ ...f } }\nfragment f on User { id }"#))
    #expect(manifest.output.contains(#"{ ...f } }\nfragment f on User { name }"#))
    let three = try folder.file("3.graphql", "query c { user(id: 1) { ...f } }")
    for result in [try await validate(one, two, three), try await folder.run(["manifest", one, two, three])] {
      #expect(result.code == 65)
      let message = "\(one):2:1: error: there are 2 fragments \"f\", \(two):2 [UniqueFragmentNames]\n"
      #expect((result.output + result.errors).contains(message))
    }
  }

  @Test func `fragments that spread others by one name do not end up in one operation`() async throws {
    let files = [
      try folder.file("1.graphql", "fragment a on User { ...f }\nfragment f on User { id }"),
      try folder.file("2.graphql", "fragment b on User { ...f }\nfragment f on User { name }"),
      try folder.file("3.graphql", "query c { user(id: 1) { ...a ...b } }"),
    ]
    for command in [["validate", "--schema", schema], ["manifest"], ["schema", "diff", schema, schema]] {
      let result = try await folder.run(command + files)
      #expect(result.code == 65)
      #expect((result.output + result.errors).contains("[UniqueFragmentNames]"))
    }
  }

  @Test func `a fragment that no file uses is an error`() async throws {
    let path = try folder.file("f.graphql", "query a { user(id: 1) { ...f } }\nfragment f on User { id }")
    let other = try folder.file("g.graphql", "fragment g on User { id ...h }\nfragment h on User { id }")
    let result = try await validate(path, other)
    #expect(result.code == 65)
    #expect(result.errors.hasSuffix(": 2 errors, no warnings\n"))
    #expect(result.output.contains("\(other):1:1: error: the fragment \"g\" is never used [NoUnusedFragments]\n"))
  }

  @Test func `a folder stands for the documents in it, without the schema and what is hidden`() async throws {
    _ = try folder.file("app/a.graphql", "query a { user(id: 1) { ...f } }")
    _ = try folder.file("app/inner/f.gql", "fragment f on User { name }")
    _ = try folder.file("app/b.swift", #"let b: GraphQLDocument = "query b { user(id: 1) { ...f } }""#)
    _ = try folder.file("app/schema.graphql", "type Query { a: Int }")
    _ = try folder.file("app/.build/c.graphql", "query c { nothing }")
    _ = try folder.file("app/notes.txt", "query")
    let app = try folder.file("app")
    let result = try await validate(app, try folder.file("app/a.graphql"), app + "/")
    #expect(result.code == 0, "\(result.output)")
    #expect(
      result.errors
        == "2 operations and 1 fragment in 2 files and 1 literal of 1 Swift file: no errors, no warnings\n")
    #expect(try await validate(try folder.file("")).code == 0)
    _ = try folder.file("empty/notes.txt", "")
    let empty = try await validate(try folder.file("empty"))
    #expect(empty.code == 66)
    #expect(empty.errors.contains("no file in this folder is one of .gql, .graphql, .swift"))
    _ = try folder.file("plain/a.graphql", "{a}")
    #expect(try await folder.run(["format", try folder.file("plain")]).code == 0)
    #expect(try folder.text("plain/a.graphql") == "{\n  a\n}\n")
  }

  @Test func `a change is traced through the fragments of other files and Swift sources`() async throws {
    let new = try folder.file(
      "new.graphql", try folder.text("schema.graphql").replacing("name: String ", with: ""))
    let operation = try folder.file("a.graphql", "query a { user(id: 1) { ...f } }")
    let fragment = try folder.file("f.graphql", "fragment f on User { name }")
    let swift = try folder.file("b.swift", "let b: GraphQLDocument =\n  \"query b { user(id: 1) { ...f } }\" + .f")
    let result = try await folder.run(["schema", "diff", schema, new, operation, fragment, swift])
    #expect(result.code == 65)
    #expect(
      result.output == """
        breaking: the field User.name is removed
            breaks query a (\(operation):1)
            breaks query b (\(swift):2)

        """)
    #expect(
      result.errors
        == "1 breaking, 0 dangerous, 0 safe; of 2 operations and 1 fragment in 2 files and 1 literal of 1 Swift file, "
        + "2 are affected\n")
    let missing = try await folder.run(["schema", "diff", schema, new, operation])
    #expect(missing.code == 65)
    #expect(missing.output.contains("a.graphql:1:28: error: there is no fragment \"f\""))
  }

  @Test func `warnings are counted, and can be left out`() async throws {
    let warned = try folder.file("w.graphql", "type Query { a: Int a: Int b: Nope }")
    let all = try await folder.run(["schema", "check", warned])
    #expect(all.code == 65)
    #expect(all.output.contains("warning:"))
    #expect(all.output.contains("error:"))
    #expect(all.errors == "\(warned): 1 error, 1 warning\n")
    let quiet = try await folder.run(["schema", "check", "--no-warnings", warned])
    #expect(quiet.code == 65)
    #expect(!quiet.output.contains("warning:"))
    #expect(quiet.output.contains("error:"))
    #expect(quiet.errors == "\(warned): 1 error, 1 warning, which are left out\n")
    let json = try await folder.run(["schema", "check", "--json", warned])
    let severities = try JSONValue(json: json.output).arrayValue?.compactMap { $0["severity"]?.stringValue }
    #expect(severities?.sorted() == ["error", "warning"])
  }
}
