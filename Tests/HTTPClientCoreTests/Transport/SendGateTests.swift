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

  @Test func `a request that was cancelled is handed to no transport`() {
    let gate = SendGate()
    let isFirstSent = gate.recordHandover()
    gate.recordWaiting()
    let isCancelled = gate.cancel()
    let isSecondSent = gate.recordHandover()
    #expect(isFirstSent)
    #expect(isCancelled)
    #expect(!isSecondSent)
  }

  @Test func `nothing is known of a request that one transport of two does not track`() {
    for tracks in [[true, false], [false, true], [true, false, true], [false, true, true]] {
      let gate = SendGate()
      for isTracked in tracks {
        gate.recordRepetition()
        let isSent = gate.recordHandover()
        if isTracked { gate.recordWaiting() }
        #expect(isSent)
      }
      let isCancelled = gate.cancel()
      #expect(!isCancelled, "\(tracks)")
    }
  }

  @Test func `a request that several transports have, which all track it, can be cancelled`() {
    let gate = SendGate()
    for _ in 0..<3 {
      gate.recordRepetition()
      _ = gate.recordHandover()
      gate.recordWaiting()
    }
    let isCancelled = gate.cancel()
    #expect(isCancelled)
  }

  @Test func `a request that one transport hands to another, which tracks it, can be cancelled`() {
    let gate = SendGate()
    for _ in 0..<2 { _ = gate.recordHandover() }
    gate.recordWaiting()
    let isCancelled = gate.cancel()
    #expect(isCancelled)
  }
}
