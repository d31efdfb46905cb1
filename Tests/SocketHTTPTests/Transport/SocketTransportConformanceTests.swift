import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct SocketTransportConformanceTests {
  @Test(arguments: TransportConformance.cases)
  func `the transport on sockets conforms`(_ test: TransportConformance.Case) async throws {
    try await test.check(SocketTransport())
  }
}
