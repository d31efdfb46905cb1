package import Foundation
import Synchronization

/// The GraphQL server of `Tests/BFF`, running in a process of its own on a free port.
///
/// A server that a test releases is given to the next test that starts one with the same arguments, with all restored,
/// since starting one takes long. It ends when the test process does, in whatever way, as its input ends then.
package final class BFFServer: Sendable {
  /// What the server has counted since it started or was reset.
  package struct Stats: Decodable, Sendable {
    /// Requests by path, and those of `websocket`.
    package let requests: [String: Int]

    /// Operations by name, over any protocol; `(anonymous)` where they have none.
    package let operations: [String: Int]
    package let activeSubscribers: Int

    /// How many operations clients have completed on WebSockets.
    package let completes: Int

    /// The WebSockets that have ended, by the close code that the server saw: 1006 if there was none.
    package let closes: [String: Int]
    package let persistedQueries: Int
  }

  package var port: UInt16 { running.port }

  /// The server's root, such as `http://127.0.0.1:40001/`.
  package var url: URL { running.url }

  /// The URL of the GraphQL endpoint.
  package var graphqlURL: URL { url.appendingPathComponent("graphql") }

  private static let sharedServer = Task { try await start() }

  private struct Running: Sendable {
    let process: ChildProcess
    let port: UInt16
    let url: URL
    let arguments: [String]
  }

  private let running: Running

  /// What was released, by arguments.
  private static let idle = Mutex<[[String]: [Running]]>([:])

  /// A server for all tests of this process that read only, and count nothing.
  package static func shared() async throws -> BFFServer {
    try await sharedServer.value
  }

  /// Starts a server for a single test.
  ///
  /// - Parameter arguments: further arguments, such as `["--auth", "http"]`; see its README.
  /// - Throws: `PythonEnvironment.Failure` if its Python environment cannot be made.
  package static func start(arguments: [String] = []) async throws -> BFFServer {
    while let running = idle.withLock({ $0[arguments]?.popLast() }) {
      // One that a client of an earlier test still keeps busy is dropped, and ends.
      let reset = try? await RawHTTP.post("/__reset?when=idle", port: running.port)
      if reset?.status == 200 { return BFFServer(running) }
    }
    let server = [RepositoryLayout.server.path, "--port", "0", "--exit-on-stdin-eof"]
    let process = try await ChildProcess(PythonEnvironment.python(), server + arguments, input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    let port = try JSONDecoder().decode([String: UInt16].self, from: Data(output.utf8))["port"]
    guard let port, let url = URL(string: "http://127.0.0.1:\(port)/") else {
      throw EndedEarly(what: "the server's port", state: process.state.value, location: #fileID)
    }
    return BFFServer(Running(process: process, port: port, url: url, arguments: arguments))
  }

  private init(_ running: Running) {
    self.running = running
  }

  deinit {
    guard running.process.state.value.ending == nil else { return }
    Self.idle.withLock { [running] in $0[running.arguments, default: []].append(running) }
  }

  package func stats() async throws -> Stats {
    try await JSONDecoder().decode(Stats.self, from: Data(RawHTTP.get("/__stats", port: port).body))
  }

  /// Waits until the number of subscriptions on the server meets a condition.
  package func waitForSubscribers(where isMet: (Int) -> Bool) async throws {
    try await eventually { isMet(try await stats().activeSubscribers) }
  }

  /// Restores the data and tokens, and sets the counters to 0.
  package func reset() async throws {
    _ = try await RawHTTP.post("/__reset", port: port)
  }

  /// Ends the server, and returns when it has ended.
  package func stop() async throws {
    running.process.closeInput()
    _ = try await running.process.waitForEnd()
  }
}

/// The Python that runs the GraphQL server and its companions, with the packages they need.
package enum PythonEnvironment {
  /// The Python of the virtual environment in `.venv`. The first call makes the environment, unless it is up to date;
  /// that takes about 20 seconds, and the network for pip.
  package static func python() async throws -> URL { try await made.value }

  private static let made = Task {
    let folder = RepositoryLayout.root.appendingPathComponent(".venv")
    let making = try await ChildProcess.run(
      RepositoryLayout.root.appendingPathComponent("Scripts/virtualenv"),
      [folder.path, RepositoryLayout.root.appendingPathComponent("Tests/BFF/requirements.txt").path],
      within: .seconds(300))
    guard making.ending == .exited(0) else { throw Failure(output: making.outputText + making.errorText) }
    if !making.outputText.isEmpty { FileHandle.standardError.write(Data(making.outputText.utf8)) }
    return folder.appendingPathComponent("bin/python")
  }

  /// The environment could not be made.
  package struct Failure: Error, CustomStringConvertible {
    let output: String

    package var description: String { "The tests' Python environment could not be made: \(output)" }
  }
}
