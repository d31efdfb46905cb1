import Foundation
import PackagePlugin

/// Generates the sessions of a target in each build, from its `graphql.json` and its `.graphql` files: nothing generated is
/// checked in. One command writes all files, and only those that have changed, so that a build compiles no more than
/// that.
@main
struct GraphQLBuildTool: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    let folder = target.directoryURL
    let file = folder.appending(path: "graphql.json")
    guard let text = try? Data(contentsOf: file) else {
      Diagnostics.error("the target '\(target.name)' has no graphql.json in its folder, \(folder.plainPath)")
      return []
    }
    // The tool reads it, too, and says with its place what is wrong with it.
    let configuration = (try? JSONDecoder().decode(Configuration.self, from: text)) ?? Configuration()
    if configuration.schema?.isEndpoint == true {
      Diagnostics.error(
        "\(file.plainPath): a build asks no server for its schema: write it to a file with 'graphql schema download'")
      return []
    }
    let schemas = (configuration.schema?.paths ?? []).map { Self.file($0, in: folder) }
    let documents = Self.documents(at: configuration.documents?.paths ?? ["."], in: folder, without: schemas)
    let clashes = FileNames.clashes(ofDocuments: documents.map(\.plainPath))
    for clash in clashes {
      Diagnostics.error("\(clash.other) and \(clash.document) would both have \(clash.file): rename one of them")
    }
    if !clashes.isEmpty { return [] }
    let output = context.pluginWorkDirectoryURL
    var arguments = ["--config", file.plainPath, "--output", output.plainPath]
    if let manifest = configuration.manifest {
      // The sources may be read-only.
      let name = URL(filePath: manifest).lastPathComponent
      arguments += ["--manifest", output.appending(path: name).plainPath]
    }
    var names = FileNames.swift(ofDocuments: documents.map(\.plainPath)) + [FileNames.shared]
    if configuration.recordSchema != nil { names.append(FileNames.recordSchema) }
    return [
      .buildCommand(
        displayName: "Generating the GraphQL sessions of \(target.name)",
        executable: try context.tool(named: "graphql-generate").url,
        arguments: arguments + documents.map(\.plainPath),
        inputFiles: [file] + (schemas + documents).filter { FileManager.default.fileExists(atPath: $0.plainPath) },
        outputFiles: names.map { output.appending(path: $0) })
    ]
  }

  /// The documents at paths: those files, and all `.graphql` and `.gql` files in those folders, but for the schema, in the
  /// order of their names. Whether a target's sources exclude them does not matter.
  private static func documents(at paths: [String], in folder: URL, without schemas: [URL]) -> [URL] {
    var seen = Set(schemas.map { $0.resolvingSymlinksInPath().plainPath })
    var documents: [URL] = []
    for path in paths {
      let url = file(path, in: folder)
      let isFolder = (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) ?? false
      for document in isFolder ? files(in: url) : [url]
      where seen.insert(document.resolvingSymlinksInPath().plainPath).inserted {
        documents.append(document)
      }
    }
    return documents
  }

  private static func files(in folder: URL) -> [URL] {
    let files = FileManager.default.enumerator(
      at: folder, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    return (files?.allObjects ?? []).compactMap { $0 as? URL }
      .filter { ["graphql", "gql"].contains($0.pathExtension) }
      .sorted { $0.plainPath < $1.plainPath }
  }

  private static func file(_ path: String, in folder: URL) -> URL {
    (path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path)).standardizedFileURL
  }
}

/// What the plugin has to know of `graphql.json`.
private struct Configuration: Decodable {
  var schema: Paths?
  var documents: Paths?
  var manifest: String?
  var recordSchema: String?
}

/// A path, or several, or where a server is.
private struct Paths: Decodable {
  let paths: [String]
  let isEndpoint: Bool

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let path = try? container.decode(String.self) {
      (paths, isEndpoint) = ([path], false)
    } else if let paths = try? container.decode([String].self) {
      (self.paths, isEndpoint) = (paths, false)
    } else {
      (paths, isEndpoint) = ([], true)
    }
  }
}

extension URL {
  /// The path as programs take it: spaces are spaces.
  fileprivate var plainPath: String { path(percentEncoded: false) }
}
