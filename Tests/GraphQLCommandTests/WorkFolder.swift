import Foundation
import TestSupport

/// A folder with files for the command `graphql`, which is run as a process.
final class WorkFolder: Sendable {
  struct Run {
    let code: Int
    let output: String
    let errors: String
  }

  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("graphql-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a file, which is written if there is a text, with the folders above it.
  func file(_ name: String, _ text: String? = nil) throws -> String {
    let file = url.appendingPathComponent(name)
    if let text {
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    return file.path
  }

  func text(_ name: String) throws -> String {
    try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
  }

  func run(
    _ arguments: [String], command: String = "graphql", environment: [String: String?] = [:], input: String? = nil
  ) async throws -> Run {
    let input: ChildProcess.Input = input.map { .bytes(Array($0.utf8)) } ?? .none
    return Run(
      try await ChildProcess.run(
        try RepositoryLayout.executable(command), arguments, environment: environment, input: input))
  }

  /// Runs the command by a shell, with redirections.
  func run(_ arguments: [String], redirected redirections: String) async throws -> Run {
    let command = try RepositoryLayout.executable("graphql").path
    let script = "\"$0\" \"$@\" \(redirections)"
    return Run(try await ChildProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", script, command] + arguments))
  }
}

extension WorkFolder.Run {
  init(_ end: ChildProcess.State) {
    code = if case .exited(let code)? = end.ending { Int(code) } else { -1 }
    (output, errors) = (end.outputText, end.errorText)
  }
}
