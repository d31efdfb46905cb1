import Foundation
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// The same requirements in HTTP/2, through the gateway of `gateway.py`.
@Suite(.serialized) struct HTTP2ConformanceTests {
  /// The gateway, which serves all of them.
  private final class Gateway: Sendable {
    static let shared = Task { try await Gateway() }

    let path: String
    private let process: ChildProcess

    private init() async throws {
      path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).socket").path
      let program = RepositoryLayout.root.appendingPathComponent("Tests/SocketHTTPTests/HTTP2/gateway.py").path
      process = try await ChildProcess(PythonEnvironment.python(), [program, path], input: .open)
      try await process.waitForOutput(containing: "listens")
    }
  }

  /// All but those of connecting, which is not the gateway's.
  private static let cases = TransportConformance.cases.filter { test in
    !["refused connection", "never stands", "while connecting"].contains { test.description.contains($0) }
  }

  @Test(arguments: cases) func `the transport conforms in HTTP/2, too`(_ test: TransportConformance.Case) async throws {
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configuration.unixSocketPath = try await Gateway.shared.value.path
    try await test.check(SocketTransport(configuration: configuration))
  }
}
