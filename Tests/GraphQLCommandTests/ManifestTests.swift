import Foundation
import GraphQLClient
import StrictJSON
import Testing

@Suite struct ManifestTests {
  private let folder: WorkFolder

  init() throws {
    folder = try WorkFolder()
  }

  @Test func `a manifest has the operations of GraphQL files, each with the fragments that it uses from any of them`()
    async throws
  {
    let one = try folder.file(
      "app/one.graphql", "query a { user(id: 1) { ...f } }\n\nmutation b { c }\n\nfragment g on User { id }")
    _ = try folder.file("app/inner/two.graphql", "fragment f on User { name ...g }")
    _ = try folder.file("app/Names.swift", "/* GraphQLSession */ let a = \"{\\(name)}\"")
    let app = try folder.file("app")
    let result = try await folder.run(["manifest", app])
    let manifest = try GraphQLManifest(json: Data(result.output.utf8))
    #expect(result.code == 0)
    #expect(result.errors == "2 operations and 2 fragments in 2 files\n")
    #expect(manifest.operations.map(\.type) == ["query", "mutation"])
    #expect(
      manifest.operations.map(\.body) == [
        "query a { user(id: 1) { ...f } }\nfragment f on User { name ...g }\nfragment g on User { id }",
        "mutation b { c }",
      ])
    let output = try folder.file("manifest.json")
    #expect(try await folder.run(["manifest", "--format", "relay", "--output", output, app]).code == 0)
    let relay = try JSONValue(json: folder.text("manifest.json"))
    #expect(relay[manifest.operations[1].id] == "mutation b { c }")
    let broken = try await folder.run(["manifest", "--separately", "--output", output, app])
    #expect(broken.code == 65)
    #expect(broken.errors.contains("one.graphql:1:28: error: there is no fragment \"f\""))
    #expect(try JSONValue(json: folder.text("manifest.json")) == relay)
    #expect(try await folder.run(["manifest", "--format", "odd", one]).code == 64)
  }

  @Test func `a manifest overwrites none of the files that it is made of`() async throws {
    let file = try folder.file("app/1.graphql", "query a { b }")
    try FileManager.default.createSymbolicLink(
      at: folder.url.appending(path: "link"), withDestinationURL: URL(fileURLWithPath: file))
    for output in [file, folder.url.appending(path: "link").path] {
      let result = try await folder.run(["manifest", "--output", output, try folder.file("app")])
      #expect(result.code == 73)
      #expect(result.errors.contains("\(output): it is one of the files that are read"))
      #expect(try folder.text("app/1.graphql") == "query a { b }")
    }
  }

  @Test func `of two fragments of one name in a file the last is in the manifest`() async throws {
    let file = try folder.file("1.graphql", "query a { ...f } fragment f on A { b } fragment f on A { c }")
    let manifest = try GraphQLManifest(json: Data(try await folder.run(["manifest", file]).output.utf8))
    #expect(manifest.operations.map(\.body) == ["query a { ...f }\nfragment f on A { c }"])
  }

  @Test func `operations without a name, or of one name in several files, have no manifest but that of Relay`()
    async throws
  {
    let one = try folder.file("1.graphql", "query getUser { user { id } }")
    let two = try folder.file("2.graphql", "query getUser { user { name } }")
    let unnamed = try folder.file("3.graphql", "{ user { id } }")
    let output = try folder.file("manifest.json")
    let result = try await folder.run(["manifest", "--output", output, one, two, unnamed])
    #expect(result.code == 65)
    let clash = "\(one):1:1: error: there are 2 operations \"getUser\", \(two):1 [UniqueOperationNames]"
    #expect(result.errors.contains(clash))
    #expect(result.errors.contains("\(unnamed):1:1: error: this query has no name"))
    #expect(result.errors.hasSuffix("graphql: no manifest is written: 2 errors\n"))
    #expect(!FileManager.default.fileExists(atPath: output))
    let relay = try await folder.run(["manifest", "--format", "relay", one, two, unnamed])
    #expect(relay.code == 0)
    #expect(try JSONDecoder().decode([String: String].self, from: Data(relay.output.utf8)).count == 3)
  }

  @Test(arguments: [
    ["manifest", "--output", "", "F"], ["schema", "download", "--endpoint", "http://[::1]/", "--output="],
  ])
  func `an empty path of the output is wrong usage`(arguments: [String]) async throws {
    let result = try await folder.run(arguments)
    #expect(result.code == 64)
    #expect(result.errors.hasPrefix("graphql: --output is empty; name a file, or - for standard output"))
  }

  @Test(arguments: [
    #"struct GetUser: GraphQLSession { static let query: GraphQLDocument = "query getUser { user }" }"#,
    #"let q = GraphQLDocument("{ user }")"#, #"let q = "query q { user }" as Document"#,
    #"let q: Document = "{ user }""#,
    "struct GetUser: GraphQLSession {}", "struct OnUser: GraphQLSubscription {}",
    "let q: GraphQLClient.GraphQLDocument? = .f", "let q: Networking.GraphQLDocument? = .f",
    #"let q = "query \(name) { user }""#, "let q: Document = \"\"\"\n  query q { user }\n",
  ])
  func `a manifest fails with the place of each session or document of a Swift file`(source: String) async throws {
    _ = try folder.file("app/a.graphql", "query a { user }")
    let swift = try folder.file("app/A.swift", "\n\n" + source + "\n" + source)
    for path in [swift, try folder.file("app")] {
      let result = try await folder.run(["manifest", path])
      #expect(result.code == 65)
      #expect(result.output.isEmpty)
      #expect(result.errors.contains("\(swift):3:"), "\(result.errors)")
      // What does not end takes the rest of the file.
      #expect(result.errors.contains("\(swift):4:") || source.contains("\"\"\""), "\(result.errors)")
    }
  }

  @Test func `files without operations have no manifest`() async throws {
    let result = try await folder.run(["manifest", try folder.file("f.graphql", "fragment f on User { name }")])
    #expect(result.code == 65)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains("there is no operation"))
    let broken = try await folder.run(["manifest", try folder.file("b.graphql", "query {")])
    #expect(broken.code == 65)
    #expect(broken.output.isEmpty)
    #expect(broken.errors.contains("b.graphql:1:8: error: "))
  }
}
