import Foundation
import TestSupport

@testable import HTTPClientCore

/// The server of `server.py`, in a process of its own.
final class PythonWebSocketServer: Sendable {
  let port: UInt16
  /// Where it listens on a Unix domain socket.
  let path: String
  private let process: ChildProcess

  private static let started = Task { try await PythonWebSocketServer() }

  static func shared() async throws -> PythonWebSocketServer { try await started.value }

  private struct Address: Decodable {
    let port: UInt16
    let path: String
  }

  private init() async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/SocketHTTPTests/WebSocket/server.py").path
    process = try await ChildProcess(PythonEnvironment.python(), [program], input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    let address = try JSONDecoder().decode(Address.self, from: Data(output.utf8))
    (port, path) = (address.port, address.path)
  }

  func request(_ path: String, compression: WebSocketCompression = .off) throws -> WebSocketRequest {
    guard let url = URL(string: "ws://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    var request = try WebSocketRequest(url: url)
    request.compression = compression
    return request
  }
}
