import Foundation
import GraphQLClient
import GraphQLGeneration
import GraphQLSchema
import GraphQLTesting
import TestSupport
import Testing

/// The article of the module, step by step.
@Suite struct ArticleTests {
  private let article: String
  private let folder = RepositoryLayout.root.appendingPathComponent("Sources/GraphQLGeneration/GraphQLGeneration.docc")

  init() throws {
    article = try String(contentsOf: folder.appendingPathComponent("GraphQLGeneration.md"), encoding: .utf8)
  }

  private func blocks(_ language: String) -> [String] {
    article.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  @Test func `the operation and the configuration of the article give the session that it uses`() throws {
    let operation = try #require(blocks("graphql").first)
    let configuration = try ConfigurationFile(
      GenerationSource(name: "graphql.json", text: #require(blocks("json").first)))
    #expect(configuration.schema == .files(["schema.graphql"]))
    #expect(configuration.documents == ["Operations"])
    #expect(configuration.output == "Generated")
    let schema = GenerationSource(
      name: "schema.graphql", text: try String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
    let code = try Generator(configuration.generation).generate(
      schema: [schema], documents: [GenerationSource(name: "Operations/Search.graphql", text: operation)])
    let text = try #require(code.files.first { $0.name == "Search.graphql.swift" }?.text)
    #expect(text.contains("public protocol SearchSessionType: Sendable {"))
    #expect(text.contains("case moment(Moment)\n"))
    // What the samples are compiled with is of the same document.
    let document = GenerationFolder(target: "GeneratedMoments").url.appendingPathComponent("Operations/Search.graphql")
    #expect(try String(contentsOf: document, encoding: .utf8) == operation + "\n")
  }

  @Test func `the samples of the article compile, and do what it says`() async throws {
    let file = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLGenerationTests/ArticleSamples.swift")
    let samples = try String(contentsOf: file, encoding: .utf8).unindented
    #expect(blocks("swift").count == 2)
    for block in blocks("swift").flatMap({ $0.components(separatedBy: "\n\n") }) {
      #expect(samples.contains(block.unindented), "not in ArticleSamples.swift:\n\(block)")
    }
    try await ArticleSamples.mocked()
    let server = try TestServer(schema: Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8)))
    let client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: server)
    #expect(try await !titles(of: "tea", with: ArticleSamples.sessions(client)).isEmpty)
  }

  @Test func `the schema of the article gives what it says of a normalised cache`() throws {
    let schema = GenerationSource(
      name: "schema.graphql",
      text: try #require(blocks("graphql").last)
        + " type Country { id: ID! } type VisitorConnection { nodes: [Visitor!]! } type Visitor { id: ID! }")
    var configuration = GenerationConfiguration()
    configuration.recordSchema = "shop"
    let document = "query A { search(text: \"a\") { ... on City { visitors(first: 1) { nodes { id } } } } }"
    let code = try Generator(configuration).generate(
      schema: [schema], documents: [GenerationSource(name: "A.graphql", text: document)])
    let text = try #require(code.files.first { $0.name == "RecordSchema.graphql.swift" }?.text)
    #expect(text.contains("static let shop = RecordSchema("))
    #expect(text.contains("\"City\": [\"code\"],"))
    #expect(text.contains("\"Place\": [\"City\", \"Country\"],"))
    #expect(text.contains("paging: [\"City.visitors\": .connection],"))
  }

  @Test func `the article lists every key of the configuration, and the command knows each`() throws {
    let rows = article.split(separator: "\n").filter { $0.hasPrefix("| `") }
    let keys = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
    do throws(GenerationFailure) {
      _ = try ConfigurationFile(GenerationSource(name: "graphql.json", text: #"{"?": 1}"#))
      Issue.record("there is a key '?'")
    } catch {
      let known = try #require(error.problems.first?.message.components(separatedBy: "The keys are ").last)
      for key in known.components(separatedBy: ", ") { #expect(keys.contains(key), "\(key)") }
    }
  }
}

extension String {
  /// The lines without their indentation.
  fileprivate var unindented: String {
    split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }
}
