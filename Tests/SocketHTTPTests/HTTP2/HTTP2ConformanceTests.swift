import Foundation
import Streams
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// The same requirements in HTTP/2, in clear text and in TLS, through the gateway of `gateway.py`.
@Suite(.serialized) struct HTTP2ConformanceTests {
  /// A gateway, which serves all of them.
  private final class Gateway: Sendable {
    static let inClearText = Task { try await Gateway(nil) }
    static let inTLS = Task { try await Gateway(TestCertificate(.init(names: ["IP:127.0.0.1"]))) }

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

    func transport() -> any HTTPTransport {
      var configuration = SocketTransport.Configuration()
      configuration.unixSocketPath = path
      guard let certificate else {
        configuration.httpVersions = .priorKnowledge
        return SocketTransport(configuration: configuration)
      }
      configuration.tls.trust = .only(.bytes(certificate.certificate))
      return SecureTransport(base: SocketTransport(configuration: configuration))
    }
  }

  /// Sends requests in TLS that the cases make for servers in clear text, and sees to it that they go in HTTP/2.
  private struct SecureTransport: HTTPTransport {
    let base: SocketTransport

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      Observable<HTTPResponsePart>.deferred {
        guard let url = URL(string: "https" + request.url.absoluteString.dropFirst(4)) else { throw URLError(.badURL) }
        var request = request
        request.target = try HTTPTarget(url)
        request.context.onConnected = { _, version in #expect(version == "2") }
        return base.send(request)
      }
    }
  }

  /// All but those of connecting, which is not the gateway's.
  private static let cases = TransportConformance.cases.filter { test in
    !["refused connection", "never stands", "while connecting"].contains { test.description.contains($0) }
  }

  @Test(arguments: cases) func `the transport conforms in HTTP/2, too`(_ test: TransportConformance.Case) async throws {
    let transport = try await Gateway.inClearText.value.transport()
    try await test.check(transport)
  }

  @Test(arguments: cases) func `the transport conforms in HTTP/2 through TLS`(
    _ test: TransportConformance.Case
  ) async throws {
    let transport = try await Gateway.inTLS.value.transport()
    try await test.check(transport)
  }
}
