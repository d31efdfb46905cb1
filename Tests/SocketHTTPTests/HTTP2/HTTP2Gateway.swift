import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport

/// The gateway of `gateway.py`, in a process of its own: it passes what comes in HTTP/2 on to servers of tests in HTTP/1.1.
final class HTTP2Gateway: Sendable {
  static let inClearText = Task { try await HTTP2Gateway(nil) }
  static let inTLS = Task { try await HTTP2Gateway(TestCertificate(.init(names: ["IP:127.0.0.1"]))) }

  private let path: String
  private let certificate: TestCertificate?
  private let process: ChildProcess

  private init(_ certificate: TestCertificate?) async throws {
    self.certificate = certificate
    let folder = FileManager.default.temporaryDirectory
    path = folder.appendingPathComponent("\(UUID()).socket").path
    let program = RepositoryLayout.root.appendingPathComponent("Tests/SocketHTTPTests/HTTP2/gateway.py").path
    var arguments = [program, path]
    var files: [URL] = []
    defer { for file in files { try? FileManager.default.removeItem(at: file) } }
    for contents in [certificate?.chain, certificate?.key].compactMap(\.self) {
      files.append(folder.appendingPathComponent("\(UUID()).pem"))
      try contents.write(to: files[files.count - 1])
      arguments.append(files[files.count - 1].path)
    }
    process = try await ChildProcess(PythonEnvironment.python(), arguments, input: .open)
    try await process.waitForOutput(containing: "listens")
  }

  /// A transport whose requests all go to the gateway.
  func transport() -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.unixSocketPath = path
    if let certificate {
      configuration.tls.trust = .only(.bytes(certificate.certificate))
    } else {
      configuration.httpVersions = .priorKnowledge
    }
    return SocketTransport(configuration: configuration)
  }
}
