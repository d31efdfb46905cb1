import Foundation
import SystemBase
import TestSupport

/// A program of Swift files and the modules that the tests are built with.
final class GeneratedProgram {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString)")
  private var files: [String] = []
  private var executable: URL { folder.appendingPathComponent("program") }

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  func write(_ text: String, to name: String) throws {
    let file = folder.appendingPathComponent(name)
    try Data(text.utf8).write(to: file)
    files.append(file.path)
  }

  /// What the compiler says of it: nothing, if it has no warning.
  func compile() async throws -> String {
    let products = RepositoryLayout.products
    // What RoundTrip.swift imports, and what that depends on.
    let modules = [
      "SystemBase", "Streams", "StrictJSON", "GraphQLValues", "GraphQLLanguage", "GraphQLSchema", "HTTPClientCore",
      "HTTPMiddlewares", "SocketHTTP", "GraphQLClient", "GraphQLTesting",
    ]
    // Not all objects of the folder: it keeps those of files that are gone.
    let objects = try modules.flatMap { module in
      let map = products.appendingPathComponent("\(module).build/output-file-map.json")
      let outputs = try JSONDecoder().decode([String: [String: String]].self, from: Data(contentsOf: map))
      return outputs.values.compactMap { $0["object"] }.filter(FileManager.default.fileExists).sorted()
    }
    return try await compile(["-o", executable.path] + objects)
  }

  /// What the compiler says of its types: nothing, if they are right. Faster than ``compile()``, and makes nothing to run.
  func check() async throws -> String { try await compile(["-typecheck"]) }

  private func compile(_ arguments: [String]) async throws -> String {
    let moduleMap = RepositoryLayout.root.appendingPathComponent("Sources/CLinux/include/module.modulemap")
    let modules = RepositoryLayout.products.appendingPathComponent("Modules").path
    let arguments =
      ["swiftc", "-swift-version", "6", "-module-name", "Program"]
      + ["-I", modules, "-Xcc", "-fmodule-map-file=\(moduleMap.path)"]
      + sanitizers.map { "-sanitize=\($0)" } + files + arguments
    let state = try await ChildProcess.run(
      URL(fileURLWithPath: "/usr/bin/env"), arguments, within: .seconds(600))
    return state.errorText + state.outputText + (state.exitCode == 0 ? "" : "\(state.ending.debugDescription)")
  }

  /// What it writes.
  func run(_ arguments: [String]) async throws -> String {
    let state = try await ChildProcess.run(executable, arguments, within: .seconds(600))
    return state.outputText + state.errorText + (state.exitCode == 0 ? "" : "\(state.ending.debugDescription)")
  }

  /// Those that the tests are built with, and so the modules.
  private var sanitizers: [String] {
    ["address": "__asan_init", "thread": "__tsan_init"].filter { dlsym(nil, $0.value) != nil }.map(\.key)
  }
}
