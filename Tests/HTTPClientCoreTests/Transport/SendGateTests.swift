import Testing

@testable import HTTPClientCore

@Suite struct SendGateTests {
  @Test func `a request that has not been sent can be cancelled`() {
    let gate = SendGate()
    gate.recordWaiting()
    let (isCancelled, isOpen) = (gate.cancel(), gate.open())
    #expect(isCancelled)
    #expect(!isOpen)
  }

  @Test func `a request that has been sent cannot be cancelled, also when it is sent once more`() {
    let gate = SendGate()
    for _ in 0..<2 {
      gate.recordWaiting()
      let (isOpen, isCancelled) = (gate.open(), gate.cancel())
      #expect(isOpen)
      #expect(!isCancelled)
    }
  }

  @Test func `a request whose transport does not track it cannot be cancelled`() {
    let gate = SendGate()
    let isCancelled = gate.cancel()
    #expect(!isCancelled)
  }
}
