import Foundation
import GraphQLGeneration
import Testing

@Suite struct ConfigurationTests {
  private func file(_ text: String) throws(GenerationFailure) -> ConfigurationFile {
    try ConfigurationFile(GenerationSource(name: "graphql.json", text: text))
  }

  private func problems(_ text: String) -> [String] {
    do throws(GenerationFailure) {
      _ = try file(text)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test func `every key has its effect`() throws {
    let file = try file(
      """
      {
        "schema": ["schema.graphql", "extra.graphqls"],
        "documents": ["App", "More.graphql"],
        "output": "Generated",
        "manifest": "manifest.json",
        "manifestFormat": "relay",
        "access": "package",
        "scalars": { "DateTime": { "type": "Date", "module": "Foundation" }, "URI": "String" },
        "acronyms": ["ID"],
        "enumCases": "asWritten",
        "deprecated": false,
        "minify": true,
        "mutable": true,
        "equality": "hashable",
        "encodable": true,
        "nonisolated": true,
        "recordSchema": "gitHub"
      }
      """)
    #expect(file.schema == .files(["schema.graphql", "extra.graphqls"]))
    #expect(file.documents == ["App", "More.graphql"])
    #expect(file.output == "Generated")
    #expect(file.manifest == "manifest.json")
    #expect(file.manifestFormat == "relay")
    var expected = GenerationConfiguration()
    expected.access = .package
    expected.scalars = ["DateTime": .init("Date", module: "Foundation"), "URI": .init("String")]
    expected.acronyms = ["ID"]
    expected.enumCases = .asWritten
    expected.includesDeprecated = false
    expected.minifiesDocuments = true
    expected.isMutable = true
    expected.equality = .hashable
    expected.isEncodable = true
    expected.isNonisolated = true
    expected.recordSchema = "gitHub"
    #expect(file.generation == expected)
  }

  @Test func `a schema may be one file, or at an endpoint with headers`() throws {
    #expect(try file(#"{"schema": "a.graphql"}"#).schema == .files(["a.graphql"]))
    let endpoint = try file(
      #"{"schema": {"endpoint": "https://a.example/", "headers": {"Authorization": "Bearer x"}}}"#)
    #expect(endpoint.schema == .endpoint("https://a.example/", headers: ["Authorization": "Bearer x"]))
    #expect(try file("{}") == ConfigurationFile())
  }

  @Test func `an unknown key is an error with its place, what may be meant, and the keys that there are`() {
    #expect(
      problems("{\n  \"schema\": \"a\",\n  \"skalars\": {}\n}") == [
        "graphql.json:3:3: error: there is no key \"skalars\". Did you mean \"scalars\"? The keys are schema, documents, output, "
          + "manifest, manifestFormat, access, scalars, acronyms, enumCases, deprecated, minify, mutable, equality, encodable, "
          + "nonisolated, recordSchema"
      ])
    #expect(
      problems(#"{"schema": {"endpoint": "a", "header": {}}, "scalars": {"A": {"typ": "B"}}}"#) == [
        #"graphql.json:1:30: error: there is no key "header". Did you mean "headers"? The keys are endpoint, headers"#,
        #"graphql.json:1:63: error: there is no key "typ". Did you mean "type"? The keys are type, module"#,
        #"graphql.json:1:62: error: "type" is missing"#,
      ])
  }

  @Test func `what was wrong before a value that ends the reading is said, too`() {
    #expect(problems(#"{"schemma": "a", "scalars": {"A": 3}}"#).count == 2)
  }

  @Test func `what cannot be a type or a module in Swift is an error with its place`() throws {
    #expect(
      problems(#"{"scalars": {"A": "Int; f()", "B": {"type": "Date\n", "module": "My-Module"}}}"#) == [
        #"graphql.json:1:19: error: "Int; f()" cannot be a type in Swift"#,
        "graphql.json:1:45: error: \"Date\n\" cannot be a type in Swift",
        #"graphql.json:1:65: error: "My-Module" cannot be a module in Swift"#,
      ])
    let types = ["Foundation.Date", "[String: [JSONValue?]]", "any Shape & Sendable", "(Int, Int)", "Größe<`Type`>"]
    for type in types { #expect(try file(#"{"scalars": {"A": "\#(type)"}}"#).generation.scalars["A"]?.type == type) }
  }

  @Test func `an empty path is an error with its place, since it would lead to the root`() {
    #expect(
      problems(#"{"output": "", "manifest": ""}"#) == [
        #"graphql.json:1:12: error: "output" is empty: write "." for this folder"#,
        #"graphql.json:1:28: error: "manifest" is empty: name a file, or leave the key out"#,
      ])
  }

  @Test func `a value that does not fit is an error with its place`() {
    #expect(
      problems("{\n\"access\": \"open\"}") == [
        "graphql.json:2:11: error: \"open\" is none of public, package, internal"
      ])
    #expect(
      problems(#"{"minify": 1}"#) == [#"graphql.json:1:12: error: expected true or false, found a number at "minify""#])
    #expect(
      problems("{\n  \"output\": \"a\"\n  \"minify\": true}").first?.hasPrefix(
        "graphql.json:3:3: error: expected ',' or '}'") == true)
    for name in ["", "git-hub", "1st", "self", "größe"] {
      #expect(
        problems(#"{"recordSchema": "\#(name)"}"#)
          == [#"graphql.json:1:18: error: "\#(name)" cannot be the name of a constant in Swift"#])
    }
    #expect(problems(#"{"schema": {}}"#) == [#"graphql.json:1:12: error: "endpoint" is missing"#])
  }
}
