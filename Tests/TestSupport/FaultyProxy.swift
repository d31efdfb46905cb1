package import Foundation

/// The proxy of `Tests/Soak/Peers/proxy.py`, in a process of its own: passes requests on to a server, and spoils some of
/// them.
///
/// It ends when this object is released.
package final class FaultyProxy: Sendable {
  /// The GraphQL endpoint, by way of the proxy.
  package let url: URL

  package let port: UInt16

  private let process: ChildProcess

  /// Starts one before a server; it spoils this part of the requests, by a sequence of faults that the seed decides.
  package init(before server: BFFServer, rate: Double, seed: Int) async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/Soak/Peers/proxy.py").path
    process = try await ChildProcess(
      PythonEnvironment.python(),
      [program, "--upstream", "\(server.port)", "--rate", "\(rate)", "--seed", "\(seed)"],
      input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    guard let port = try JSONDecoder().decode([String: UInt16].self, from: Data(output.utf8))["port"],
      let url = URL(string: "http://127.0.0.1:\(port)/graphql")
    else { throw EndedEarly(what: "the proxy's port", state: process.state.value, location: #fileID) }
    self.url = url
    self.port = port
  }

  /// Stops it, and gives how many requests it spoiled, by kind; `none` are those that it passed on.
  package func stop() async throws -> [String: Int] {
    process.closeInput()
    let output = try await process.waitForEnd().outputText
    let line = output.split(separator: "\n").last ?? "{}"
    return try JSONDecoder().decode([String: Int].self, from: Data(line.utf8))
  }
}

/// The servers of `crowd.py`, in a process of its own: one port that answers for any host. It ends when this object is
/// released.
package final class Crowd: Sendable {
  package let port: UInt16
  private let process: ChildProcess

  package init() async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/Soak/Peers/crowd.py").path
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
