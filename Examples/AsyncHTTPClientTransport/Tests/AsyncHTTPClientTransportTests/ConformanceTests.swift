import AsyncHTTPClientTransport
import Testing
import TransportConformance

@Suite(.serialized) struct ConformanceTests {
  @Test(arguments: TransportConformance.cases)
  func `the transport conforms`(_ test: TransportConformance.Case) async throws {
    try await test.check(AsyncHTTPClientTransport())
  }
}
