import TestSupport
import Testing

struct UnreachablePortTests {
  @Test func `a refusing port refuses`() throws {
    let closed = try RefusingPort()
    let error = #expect(throws: (any Error).self) { try RawConnection(port: closed.port) }
    #expect("\(String(describing: error))".contains("refused"))
  }

  @Test func `a server can open a refusing port, and leave it`() async throws {
    let port = try RefusingPort()
    for _ in 0..<2 {
      let server = try await BFFServer.start(arguments: ["--port", "\(port.port)"])
      #expect(try await server.stats().operations == [:])
      try await server.stop()
      #expect(throws: (any Error).self) { try RawConnection(port: port.port) }
    }
  }

  @Test func `an unanswered port leaves a connection pending`() throws {
    let silent = try UnansweredPort()
    #expect(try !RawConnection.stands(port: silent.port, withinMilliseconds: 300))
  }
}
