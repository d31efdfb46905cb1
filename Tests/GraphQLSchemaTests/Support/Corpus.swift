import Foundation
import GraphQLLanguage
import GraphQLSchema
import TestSupport

/// The corpus of documents: for each rule a file of documents that keep or break it, all for one schema.
struct Corpus {
  struct Sample {
    let rule: ValidationRule
    let isValid: Bool
    let text: String
  }

  static let folder = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLSchemaTests/Corpus")

  let sdl: String
  let schema: Schema
  let samples: [Sample]

  init() throws {
    sdl = try String(contentsOf: Self.folder.appendingPathComponent("schema.graphql"), encoding: .utf8)
    schema = try Schema(parsing: sdl)
    samples = try ValidationRule.allCases.flatMap { try Self.samples(of: $0) }
  }

  private static func samples(of rule: ValidationRule) throws -> [Sample] {
    try parts(of: "Rules/\(rule.rawValue).graphql").map { Sample(rule: rule, isValid: $0.isValid, text: $0.text) }
  }

  /// A file is a sequence of documents, each after a line `### valid` or `### invalid`.
  static func parts(of file: String) throws -> [(isValid: Bool, text: String)] {
    let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
    return text.components(separatedBy: "### ").dropFirst().map { part in
      let lines = part.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      return (lines[0] == "valid", String(lines.last ?? ""))
    }
  }
}
