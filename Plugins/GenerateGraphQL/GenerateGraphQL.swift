import Foundation
import PackagePlugin

/// `swift package generate-graphql`: runs `graphql generate` for each target of the package that has a `graphql.json`, or
/// for those that are named by `--target`. All other arguments go to the tool, such as `--check`.
@main
struct GenerateGraphQL: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) async throws {
    let tool = try context.tool(named: "graphql-generate").url
    var extractor = ArgumentExtractor(arguments)
    let named = extractor.extractOption(named: "target")
    let targets = named.isEmpty ? context.package.targets : try context.package.targets(named: named)
    var folders = targets.map(\.directoryURL)
    if named.isEmpty { folders.insert(context.package.directoryURL, at: 0) }
    let configurations = folders.map { $0.appending(path: "graphql.json") }
      .filter { FileManager.default.fileExists(atPath: $0.path()) }
    guard !configurations.isEmpty else {
      return Diagnostics.error("there is no graphql.json in the package's folder, or in one of its targets")
    }
    for configuration in configurations {
      let process = Process()
      process.executableURL = tool
      process.arguments = ["generate", "--config", configuration.path()] + extractor.remainingArguments
      process.currentDirectoryURL = context.package.directoryURL
      try process.run()
      process.waitUntilExit()
      guard process.terminationReason == .exit, process.terminationStatus == 0 else {
        return Diagnostics.error("\(configuration.path()): graphql ended with \(process.terminationStatus)")
      }
    }
  }
}
