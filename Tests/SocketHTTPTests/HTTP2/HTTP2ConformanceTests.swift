import Foundation
import Streams
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// The same requirements in HTTP/2, in clear text and in TLS, through the gateway of `gateway.py`.
@Suite(.serialized) struct HTTP2ConformanceTests {
  /// Sends requests in TLS that the cases make for servers in clear text, and sees to it that they go in HTTP/2.
  private struct SecureTransport: HTTPTransport {
    let base: SocketTransport

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      Observable<HTTPResponsePart>.deferred {
        guard let url = URL(string: "https" + request.url.absoluteString.dropFirst(4)) else { throw URLError(.badURL) }
        var request = request
        request.target = try HTTPTarget(url)
        request.context.onConnected = { _, version, _ in #expect(version == "2") }
        return base.send(request)
      }
    }
  }

  /// All but those of connecting, which is not the gateway's.
  private static let cases = TransportConformance.cases.filter { test in
    !["refused connection", "never stands", "while connecting"].contains { test.description.contains($0) }
  }

  @Test(arguments: cases) func `the transport conforms in HTTP/2, too`(_ test: TransportConformance.Case) async throws {
    let transport = try await HTTP2Gateway.inClearText.value.transport()
    try await test.check(transport)
  }

  @Test(arguments: cases) func `the transport conforms in HTTP/2 through TLS`(
    _ test: TransportConformance.Case
  ) async throws {
    let transport = SecureTransport(base: try await HTTP2Gateway.inTLS.value.transport())
    try await test.check(transport)
  }
}
