import Foundation
import GraphQLGeneration
import TestSupport

/// A folder with a configuration, documents and generated files.
struct GenerationFolder {
  let url: URL

  init(_ url: URL) {
    self.url = url
  }

  /// One of the targets of generated sessions.
  init(target: String) {
    self.init(RepositoryLayout.root.appendingPathComponent("Tests/\(target)"))
  }

  private func source(_ name: String) throws -> GenerationSource {
    GenerationSource(name: name, bytes: Array(try Data(contentsOf: url.appendingPathComponent(name))))
  }

  var configuration: ConfigurationFile { get throws { try ConfigurationFile(source("graphql.json")) } }

  /// The files of the schema.
  var schema: [GenerationSource] {
    get throws {
      guard case .files(let files)? = try configuration.schema else { return [] }
      return try files.map(source)
    }
  }

  var documents: [GenerationSource] {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: url.appendingPathComponent("Operations").path)
      return try names.sorted().map { try source("Operations/\($0)") }
    }
  }

  func generate() throws -> GeneratedCode {
    try Generator(configuration.generation).generate(schema: schema, documents: documents)
  }
}
