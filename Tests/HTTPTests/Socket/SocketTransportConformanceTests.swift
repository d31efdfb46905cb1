import TestSupport
import Testing
import TransportConformance

@testable import HTTP

@Suite struct SocketTransportConformanceTests {
  @Test(arguments: TransportConformance.cases)
  func `the transport on sockets conforms`(_ test: TransportConformance.Case) async throws {
    try await test.check(SocketTransport())
  }

  @Test(arguments: TransportConformance.cases)
  func `so it does where there is no epoll`(_ test: TransportConformance.Case) async throws {
    let transport = SocketTransport(configuration: .init()) { () throws(HTTP.SystemError) in try PollPoller() }
    try await test.check(transport)
  }
}
