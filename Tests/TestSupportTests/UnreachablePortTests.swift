import TestSupport
import Testing

struct UnreachablePortTests {
  @Test func `a refusing port refuses`() throws {
    let closed = try RefusingPort()
    let error = #expect(throws: (any Error).self) { try RawConnection(port: closed.port) }
    #expect("\(String(describing: error))".contains("refused"))
  }

  @Test func `an unanswered port leaves a connection pending`() throws {
    let silent = try UnansweredPort()
    #expect(try !RawConnection.stands(port: silent.port, withinMilliseconds: 300))
  }
}
