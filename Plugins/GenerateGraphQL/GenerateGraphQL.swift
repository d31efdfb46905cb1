import Foundation
import PackagePlugin

/// `swift package generate-graphql`: generates the sessions of each `graphql.json` in the package's folder and in those of
/// its targets, or of the targets that are named by `--target`. All other arguments go to `graphql-generate`, such as
/// `--check`.
@main
struct GenerateGraphQL: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) async throws {
    let tool = try context.tool(named: "graphql-generate").url
    var extractor = ArgumentExtractor(arguments)
    let names = extractor.extractOption(named: "target")
    let targets = names.isEmpty ? context.package.targets : try context.package.targets(named: names)
    var configurations: [String] = []
    for folder in (names.isEmpty ? [context.package.directoryURL] : []) + targets.map(\.directoryURL) {
      let file = folder.appending(path: "graphql.json").path(percentEncoded: false)
      if !configurations.contains(file), FileManager.default.fileExists(atPath: file) { configurations.append(file) }
    }
    guard !configurations.isEmpty else {
      let places = names.isEmpty ? "the package's folder, and in those of its targets" : names.joined(separator: ", ")
      return Diagnostics.error("there is no graphql.json in \(places)")
    }
    for configuration in configurations {
      let process = Process()
      process.executableURL = tool
      process.arguments = ["--config", configuration] + extractor.remainingArguments
      process.currentDirectoryURL = context.package.directoryURL
      try process.run()
      process.waitUntilExit()
      if process.terminationReason != .exit || process.terminationStatus != 0 {
        Diagnostics.error("\(configuration): graphql-generate ended with \(process.terminationStatus)")
      }
    }
  }
}
