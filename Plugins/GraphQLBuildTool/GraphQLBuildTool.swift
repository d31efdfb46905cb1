import Foundation
import PackagePlugin

/// Generates the sessions of a target in each build, from its `graphql.json` and its `.graphql` files: nothing generated is
/// checked in. One command writes all files, and only those that have changed, so that a build compiles no more than
/// that.
@main
struct GraphQLBuildTool: BuildToolPlugin {
  /// What the plugin has to know of `graphql.json`.
  private struct Configuration: Decodable {
    let schema: Schema?

    enum Schema: Decodable {
      case files([String])
      case endpoint

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let file = try? container.decode(String.self) {
          self = .files([file])
        } else if let files = try? container.decode([String].self) {
          self = .files(files)
        } else {
          self = .endpoint
        }
      }
    }
  }

  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let configuration = target.directoryURL.appending(path: "graphql.json")
    guard let text = try? Data(contentsOf: configuration) else {
      Diagnostics.error("the target '\(target.name)' has no graphql.json")
      return []
    }
    guard case .files(let schema)? = try JSONDecoder().decode(Configuration.self, from: text).schema else {
      Diagnostics.error("\(configuration.path()): a build asks no server: name a file as \"schema\"")
      return []
    }
    let schemas = schema.map { URL(filePath: $0, relativeTo: target.directoryURL).standardizedFileURL }
    let documents = target.sourceFiles.map(\.url.standardizedFileURL)
      .filter { ["graphql", "gql"].contains($0.pathExtension) && !schemas.contains($0) }
      .sorted { $0.path() < $1.path() }
    let names = documents.map { $0.lastPathComponent + ".swift" } + ["Schema.graphql.swift"]
    if let twice = Dictionary(grouping: names) { $0.lowercased() }.values.first(where: { $0.count > 1 }) {
      Diagnostics.error("\(target.name): the files generated of two documents would be called \(twice[0]): rename one")
      return []
    }
    let output = context.pluginWorkDirectoryURL
    return [
      .buildCommand(
        displayName: "Generating the GraphQL sessions of \(target.name)",
        executable: try context.tool(named: "graphql-generate").url,
        arguments: ["generate", "--config", configuration.path(), "--output", output.path()]
          + documents.map { $0.path() },
        inputFiles: [configuration] + schemas + documents,
        outputFiles: names.map { output.appending(path: $0) })
    ]
  }
}
