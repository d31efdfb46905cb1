import Foundation

/// The servers of `crowd.py`, in a process of its own: one port that answers for any host. It ends when this object is
/// released.
package final class Crowd: Sendable {
  package let port: UInt16
  private let process: ChildProcess

  package init() async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/Soak/crowd.py").path
    process = try await ChildProcess(PythonEnvironment.python(), [program], input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    guard let port = try JSONDecoder().decode([String: UInt16].self, from: Data(output.utf8))["port"] else {
      throw EndedEarly(what: "the crowd's port", state: process.state.value, location: #fileID)
    }
    self.port = port
  }

  /// Stops it, and gives how many `hosts` and `connections` it has seen.
  package func stop() async throws -> [String: Int] {
    process.closeInput()
    let output = try await process.waitForEnd().outputText
    let line = output.split(separator: "\n").last ?? "{}"
    return try JSONDecoder().decode([String: Int].self, from: Data(line.utf8))
  }
}
