import Foundation
import JSON
import Networking
import TestSupport
import Testing

/// A user of the command: a folder of one's own, and a server that comes and goes, always at the same address, which
/// refuses connections when it is away.
final class Account: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID().uuidString)")
  private let port: RefusingPort

  /// The options that all runs have.
  var options: [String] { ["--endpoint", "http://127.0.0.1:\(port.port)/graphql", "--cache-dir", folder.path] }

  private init() throws {
    port = try RefusingPort()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// An account whose server is away.
  static func offline() throws -> Account { try Account() }

  /// Runs a closure while the server is there.
  func online<Result>(_ arguments: [String] = [], _ body: (BFFServer) async throws -> Result) async throws -> Result {
    let server = try await BFFServer.start(arguments: ["--port", "\(port.port)"] + arguments)
    let result = try await body(server)
    try await server.stop()
    return result
  }

  func run(_ arguments: String..., environment: [String: String?] = [:]) async throws -> ChildProcess.State {
    try await Moments.run(arguments + options, environment: environment)
  }

  func start(_ arguments: String...) throws -> ChildProcess { try Moments.start(arguments + options) }

  /// Whether the user likes a moment, as a timeline in JSON says.
  func isLiked(_ momentID: String, in result: ChildProcess.State) throws -> Bool? {
    guard case .array(let moments)? = try JSONValue(result.output)["moments"] else { return nil }
    return moments.first { $0["id"] == .string(momentID) }.map { $0["isLiked"] == true }
  }

  /// Takes the lock of the timelines' folder, which closing the descriptor gives back.
  func lockCache() throws -> Int32 {
    let timelines = folder.appendingPathComponent("timelines")
    let partition = try #require(try FileManager.default.contentsOfDirectory(atPath: timelines.path).first)
    let lock = open(timelines.appendingPathComponent("\(partition)/lock").path, O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    return lock
  }

  /// All that is in the folder's files.
  func everythingKept() throws -> String {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    return paths.compactMap { path in
      FileManager.default.contents(atPath: folder.appendingPathComponent(path).path).map {
        String(decoding: $0, as: UTF8.self)
      }
    }.joined()
  }
}
