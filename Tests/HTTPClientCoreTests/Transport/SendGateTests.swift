import Testing

@testable import HTTPClientCore

@Suite struct SendGateTests {
  @Test func `a request that has not been sent can be cancelled, and is not sent then`() {
    let gate = SendGate()
    let (isCancelled, isOpen) = (gate.cancel(), gate.open())
    #expect(isCancelled)
    #expect(!isOpen)
  }

  @Test func `a request that has been sent cannot be cancelled, also when it is sent once more`() {
    let gate = SendGate()
    for _ in 0..<2 {
      let (isOpen, isCancelled) = (gate.open(), gate.cancel())
      #expect(isOpen)
      #expect(!isCancelled)
    }
  }

  @Test(arguments: [true, false])
  func `a request that a transport has can be cancelled if the transport tracks it`(isTracked: Bool) {
    let gate = SendGate()
    let (isSent, isCancelled) = (gate.recordHandover(isTracked: isTracked), gate.cancel())
    #expect(isSent)
    #expect(isCancelled == isTracked)
  }

  @Test(arguments: [true, false])
  func `a request that was cancelled is handed to no transport`(isTracked: Bool) {
    let gate = SendGate()
    let (isCancelled, isSent) = (gate.cancel(), gate.recordHandover(isTracked: isTracked))
    #expect(isCancelled)
    #expect(!isSent)
  }

  @Test func `what is sent past an inner gate is sent past the outer one, and no closed one is passed`() {
    let outer = SendGate.Shared()
    let first = SendGate.Shared(inside: outer)
    #expect(first.recordHandover())
    #expect(!outer.cancel())
    #expect(SendGate.Shared(inside: outer).cancel())
    let closed = SendGate.Shared()
    #expect(closed.cancel())
    #expect(!SendGate.Shared(inside: closed).recordHandover())
  }
}
