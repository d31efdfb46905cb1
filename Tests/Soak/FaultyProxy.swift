import Foundation
import HTTP
import TestSupport

/// The proxy of `proxy.py`, in a process of its own.
final class FaultyProxy: Sendable {
  let url: URL
  private let process: ChildProcess

  init(before server: BFFServer, rate: Double, seed: Int) async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/Soak/proxy.py").path
    process = try ChildProcess(
      RepositoryLayout.existingPython(),
      [program, "--upstream", "\(server.port)", "--rate", "\(rate)", "--seed", "\(seed)"],
      input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    guard let port = try JSONDecoder().decode([String: UInt16].self, from: Data(output.utf8))["port"],
      let url = URL(string: "http://127.0.0.1:\(port)/graphql")
    else { throw RequestError(.unknown, "The proxy did not start: \(output)") }
    self.url = url
  }

  /// Stops it, and gives how many requests it spoiled, by kind.
  func stop() async throws -> [String: Int] {
    process.closeInput()
    let output = try await process.waitForEnd().outputText
    let line = output.split(separator: "\n").last ?? "{}"
    return try JSONDecoder().decode([String: Int].self, from: Data(line.utf8))
  }
}
