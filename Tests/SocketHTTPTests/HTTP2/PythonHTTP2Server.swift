import Foundation
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// The server of `server.py`, in a process of its own.
final class PythonHTTP2Server: Sendable {
  let port: UInt16
  /// The certificate to trust, if it speaks TLS.
  let certificate: TestCertificate?
  let process: ChildProcess

  private struct Address: Decodable {
    let port: UInt16
  }

  struct Counts: Decodable {
    var connections = 0
    var streams: Int?
    var resets: Int?
    var errors: Int?
    var ends: Int?
    var pings: Int?
    var goodbyes: Int?
  }

  convenience init(isSecure: Bool = false, _ options: String...) async throws {
    try await self.init(isSecure: isSecure, options: options)
  }

  init(isSecure: Bool = false, options: [String]) async throws {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/SocketHTTPTests/HTTP2/server.py").path
    var arguments = [program] + options
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    certificate = isSecure ? try TestCertificate(.init(names: ["IP:127.0.0.1"])) : nil
    if let certificate {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let files = ["certificate": certificate.chain, "key": certificate.key]
      for (name, contents) in files {
        let file = folder.appendingPathComponent(name)
        try contents.write(to: file)
        arguments += ["--\(name)", file.path]
      }
    }
    process = try await ChildProcess(PythonEnvironment.python(), arguments, input: .open)
    let output = try await process.waitForOutput(containing: "\n", within: .seconds(60))
    port = try JSONDecoder().decode(Address.self, from: Data(output.utf8)).port
  }

  func request(
    _ path: String, method: HTTPMethod = .get, body: Data? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(20))
  ) throws -> HTTPRequest {
    guard let url = URL(string: "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)\(path)") else {
      throw URLError(.badURL)
    }
    return try HTTPRequest(method: method, url: url, body: body, timeouts: timeouts)
  }

  /// A transport that speaks HTTP/2 with it.
  func transport(
    times: HTTP2Times = HTTP2Times(), files: FileAccess = .onWorkers,
    _ configure: (inout SocketTransport.Configuration) -> Void = { _ in }
  ) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    if let certificate { configuration.tls.trust = .only(.bytes(certificate.certificate)) }
    configure(&configuration)
    return SocketTransport(
      configuration: configuration, files: files, makeHTTP: { _ in HTTP2Connection(times: times) })
  }

  func counts(by transport: SocketTransport) async throws -> Counts {
    try JSONDecoder().decode(Counts.self, from: try await transport.response(to: request("/counts")).body)
  }
}
