import Foundation
import GraphQLClient
import StrictJSON
import TestSupport
import Testing

/// The command `graphql`, run as a process.
@Suite struct GraphQLCommandTests {
  private let folder: WorkFolder
  private let schema = """
    type Query { user(id: ID!): User }
    type User { id: ID! name: String old: Int @deprecated }
    """

  init() throws {
    folder = try WorkFolder()
    _ = try folder.file("schema.graphql", schema)
  }

  private func file(_ name: String, _ text: String? = nil) throws -> String { try folder.file(name, text) }

  private func run(_ arguments: String..., input: String? = nil) async throws -> WorkFolder.Run {
    try await folder.run(arguments, input: input)
  }

  @Test func `a valid document is accepted with a count alone, an invalid one with a line, the rule and a caret`()
    async throws
  {
    let schema = try file("schema.graphql")
    let good = try file("good.graphql", "{ user(id: 1) { name } }")
    let bad = try file("bad.graphql", "query A {\n  user(id: 1) {\n    nmae\n  }\n}\n")
    let accepted = try await run("validate", "--schema", schema, good)
    #expect(accepted.code == 0)
    #expect(accepted.output.isEmpty)
    #expect(accepted.errors == "1 operation and no fragments in 1 file: no errors, no warnings\n")
    let refused = try await run("validate", "--schema", schema, good, bad)
    #expect(refused.code == 65)
    #expect(refused.errors.hasSuffix(": 1 error, no warnings\n"))
    #expect(
      refused.output == """
        \(bad):3:5: error: User has no field "nmae". Did you mean "name"? [FieldsOnCorrectType]
        3 |     nmae
          |     ^~~~

        """)
  }

  @Test func `without a command, it says so, and prints its help in lines`() async throws {
    let result = try await run()
    #expect(result.code == 64)
    #expect(result.output.isEmpty)
    #expect(
      result.errors.hasPrefix(
        "graphql: no command is given\n\nChecks GraphQL documents and schemas, and writes the Swift of sessions.\n\nUsage:\n"
      ))
    #expect(!result.errors.contains("\\n"))
  }

  @Test func `with --json, the errors are an array`() async throws {
    let bad = try file("bad.graphql", "{ user(id: 1) { nmae } }")
    let result = try await run("validate", "--schema", try file("schema.graphql"), "--json", bad)
    #expect(result.code == 65)
    #expect(
      try JSONValue(json: result.output) == [
        [
          "file": .string(bad), "rule": "FieldsOnCorrectType",
          "message": "User has no field \"nmae\". Did you mean \"name\"?", "severity": "error",
          "locations": [["line": 1, "column": 17]],
        ]
      ])
    let good = try file("good.graphql", "{ user(id: 1) { name } }")
    let none = try await run("validate", "--schema", try file("schema.graphql"), "--json", good)
    #expect(none.code == 0)
    #expect(try JSONValue(json: none.output) == [])
  }

  @Test
  func `standard input is a file, a text that is not GraphQL an error with its place, and the schema may be JSON`()
    async throws
  {
    let schema = try file("schema.graphql")
    let broken = try await run("validate", "--schema", schema, "-", input: "{ user(id: ")
    #expect(broken.code == 65)
    #expect(broken.output.hasPrefix("<stdin>:1:12: error: "))
    #expect(broken.output.contains("[Syntax]"))
    let json = try await run("schema", "print", "--json", schema)
    let document = try file("good.graphql", "{ user(id: 1) { name } }")
    let accepted = try await run("validate", "--schema", "-", document, input: json.output)
    #expect(accepted.code == 0)
    #expect(accepted.output.isEmpty)
  }

  @Test(arguments: [
    (["validate", "FILE"], 64), (["validate", "--schema", "S"], 64), (["nothing"], 64), ([], 64),
    (["validate", "--shema", "S", "F"], 64), (["schema"], 64), (["schema", "nothing"], 64),
    (["format", "--json", "F"], 64), (["schema", "diff", "A"], 64), (["schema", "download", "--output", "x"], 64),
    (["validate", "--schema", "-", "-"], 64), (["validate", "--schema", "/nowhere/S", "F"], 66),
    (["format", "/nowhere/F"], 66), (["schema", "check", "/nowhere/S"], 66), (["schema", "print", "/"], 66),
  ])
  func `a wrong command line exits with 64, a missing file with 66`(arguments: [String], code: Int) async throws {
    let command = try RepositoryLayout.executable("graphql")
    let end = try await ChildProcess.run(command, arguments)
    #expect(end.ending == .exited(Int32(code)))
    #expect(end.outputText.isEmpty)
    #expect(end.errorText.hasPrefix("graphql: "))
  }

  @Test func `every command explains itself, and has a version`() async throws {
    let commands = [
      [], ["validate"], ["format"], ["manifest"], ["schema", "print"], ["schema", "check"], ["schema", "diff"],
      ["schema", "download"],
    ]
    let command = try RepositoryLayout.executable("graphql")
    for words in commands {
      let help = try await ChildProcess.run(command, words + ["--help"])
      #expect(help.ending == .exited(0))
      #expect(help.outputText.contains("graphql " + words.joined(separator: " ")))
      let version = try await ChildProcess.run(command, words + ["--version"])
      #expect(version.ending == .exited(0))
      #expect(version.outputText.hasPrefix("graphql "))
    }
  }

  @Test func `documents are formatted with their comments, or only checked`() async throws {
    let path = try file("a.graphql", "# a comment\nquery A{user(id:1){name}}")
    let check = try await run("format", "--check", path)
    #expect(check.code == 65)
    #expect(check.output == "\(path) is not formatted\n")
    #expect(check.errors == "not formatted: 1 of 1 file\n")
    #expect(try await run("format", path).code == 0)
    let formatted = "# a comment\nquery A {\n  user(id: 1) {\n    name\n  }\n}\n"
    #expect(try String(contentsOfFile: path, encoding: .utf8) == formatted)
    #expect(try await run("format", "--check", path).code == 0)
    let input = try await run("format", "-", input: "{a}")
    #expect(input.code == 0)
    #expect(input.output == "{\n  a\n}\n")
    #expect(try await run("format", try file("b.graphql", "{")).code == 65)
  }

  @Test func `a schema is printed, sorted if wanted, and checked`() async throws {
    let path = try file("s.graphql", "type Query { b: Int a(y: Int, x: Int): Int } extend type Query { c: Int }")
    let printed = try await run("schema", "print", path)
    #expect(printed.output == "type Query {\n  b: Int\n  a(y: Int, x: Int): Int\n  c: Int\n}\n")
    let sorted = try await run("schema", "print", "--sort", path)
    #expect(sorted.output == "type Query {\n  a(x: Int, y: Int): Int\n  b: Int\n  c: Int\n}\n")
    #expect(try await run("schema", "check", path).code == 0)
    let warned = try await run("schema", "check", try file("w.graphql", "type Query { a: Int a: Int }"))
    #expect(warned.code == 0)
    #expect(warned.output.contains("w.graphql:1:14: warning: "))
    let wrong = try await run("schema", "check", try file("e.graphql", "type Query { a: Nope }"))
    #expect(wrong.code == 65)
    #expect(wrong.output.contains("e.graphql:1:17: error: "))
    #expect(wrong.output.contains("[KnownTypeNames]"))
  }

  @Test func `two schemas are compared, and the operations named that a change breaks`() async throws {
    let old = try file("schema.graphql")
    let new = try file("new.graphql", schema.replacingOccurrences(of: "name: String ", with: ""))
    let document = try file("d.graphql", "query Names { user(id: 1) { name } }\nquery Ids { user(id: 1) { id } }")
    let breaking = try await run("schema", "diff", old, new, document)
    #expect(breaking.code == 65)
    #expect(breaking.output == "breaking: the field User.name is removed\n    breaks query Names (\(document):1)\n")
    let safe = try await run("schema", "diff", new, old)
    #expect(safe.code == 0)
    #expect(safe.output == "safe: the field User.name is added\n")
    let json = try await run("schema", "diff", "--json", old, new, document)
    #expect(try JSONValue(json: json.output).arrayValue?.first?["operations"]?.arrayValue?.count == 1)
  }

  @Test func `the schema of a real server is downloaded, as SDL or JSON`() async throws {
    let server = try await BFFServer.start()
    let sdl = try file("downloaded.graphql")
    let endpoint = server.graphqlURL.absoluteString
    let done = try await run("schema", "download", "--endpoint", endpoint, "--output", sdl, "--header", "X-Test: 1")
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.errors.isEmpty, "\(done.errors)")
    let compared = try await run("schema", "diff", RepositoryLayout.schema.path, sdl)
    #expect(compared.code == 0, "\(compared.output)")
    #expect(compared.output.isEmpty, "\(compared.output)")
    let json = try file("downloaded.json")
    #expect(try await run("schema", "download", "--endpoint", endpoint, "--output", json).code == 0)
    #expect(try await run("schema", "diff", sdl, json).output.isEmpty)
    let unreachable = try await run(
      "schema", "download", "--endpoint", "http://127.0.0.1:1/graphql", "--output", sdl)
    #expect(unreachable.code == 69)
    #expect(unreachable.errors.hasPrefix("graphql: "))
  }
}
