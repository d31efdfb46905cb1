import Streams
import TestSupport
import Testing

@testable import HTTP

/// The same circuit in other words: keeps every call, and looks back over all of them.
private struct Model {
  let policy: CircuitBreakerPolicy
  var calls: [(part: Int, isFailure: Bool)] = []
  var openUntil: Duration?
  var trial: (number: Int, givenUpAt: Duration)?
  var phase = 0
  var trials = 0

  func part(_ time: Duration) -> Int { Int(time / (policy.window / 10)) }

  var state: CircuitState { trial != nil ? .halfOpen : openUntil != nil ? .open : .closed }

  mutating func enter(_ now: Duration) -> Int? {
    if let until = openUntil ?? trial?.givenUpAt {
      guard now >= until else { return nil }
      openUntil = nil
      phase += 1
      trial = (phase, now + policy.openDuration)
    }
    return phase
  }

  mutating func leave(_ pass: Int, _ outcome: Circuit.Outcome, _ now: Duration) {
    guard pass == phase, openUntil == nil else { return }
    if trial != nil {
      phase += 1
      switch outcome {
      case .succeeded: (trial, calls) = (nil, [])
      case .failed: (trial, openUntil) = (nil, now + policy.openDuration)
      case .abandoned: trial = (phase, now)
      }
    } else if outcome != .abandoned {
      calls.append((part(now), outcome == .failed))
      let recent = calls.filter { $0.part > part(now) - 10 }
      let failures = recent.count { $0.isFailure }
      if recent.count >= policy.minimumCalls, failures > 0,
        Double(failures) / Double(recent.count) >= policy.failureRate
      {
        openUntil = now + policy.openDuration
        phase += 1
      }
    }
  }
}

@Suite("The circuit as a state machine")
struct CircuitTests {
  @Test(arguments: 0..<50)
  func `it does what the model does, whatever happens`(seed: UInt64) {
    var dice = SplitMix(seed: seed)
    let policy = CircuitBreakerPolicy(
      failureRate: [0.2, 0.4, 0.6].randomElement(using: &dice) ?? 0.6, minimumCalls: .random(in: 1...6, using: &dice),
      window: .seconds(Int.random(in: 1...4, using: &dice)), openDuration: .seconds(1))
    var circuit = Circuit(policy)
    var model = Model(policy: policy)
    var now = Duration.zero
    var calls: [(Circuit.Pass, Int)] = []
    var seen: Set<CircuitState> = []
    for step in 0..<2000 {
      now += .milliseconds(Int.random(in: 0...150, using: &dice))
      if Bool.random(using: &dice) || calls.isEmpty {
        let (pass, expected) = (circuit.enter(at: now), model.enter(now))
        #expect((pass == nil) == (expected == nil), "step \(step)")
        if let pass, let expected { calls.append((pass, expected)) }
      } else {
        let (pass, expected) = calls.remove(at: .random(in: calls.indices, using: &dice))
        let outcomes: [Circuit.Outcome] = [.succeeded, .failed, .failed, .abandoned]
        let outcome = outcomes.randomElement(using: &dice) ?? .failed
        circuit.leave(pass, outcome, at: now)
        model.leave(expected, outcome, now)
      }
      #expect(circuit.state == model.state, "step \(step)")
      seen.insert(circuit.state)
    }
    #expect(seen == [.closed, .open, .halfOpen])
  }

  @Test func `below the least number of calls it stays closed`() {
    var circuit = Circuit(CircuitBreakerPolicy(minimumCalls: 3))
    for _ in 0..<2 { if let pass = circuit.enter(at: .zero) { circuit.leave(pass, .failed, at: .zero) } }
    #expect(circuit.state == .closed)
    if let pass = circuit.enter(at: .zero) { circuit.leave(pass, .failed, at: .zero) }
    #expect(circuit.state == .open)
  }

  @Test func `half-open it lets one through at a time`() throws {
    var circuit = Circuit(CircuitBreakerPolicy(minimumCalls: 1, openDuration: .seconds(5)))
    let pass = circuit.enter(at: .zero)
    circuit.leave(try #require(pass), .failed, at: .zero)
    let early = circuit.enter(at: .seconds(4.9))
    #expect(early == nil)
    let trial = circuit.enter(at: .seconds(5))
    #expect(circuit.state == .halfOpen)
    let second = circuit.enter(at: .seconds(6))
    #expect(second == nil)
    circuit.leave(try #require(trial), .succeeded, at: .seconds(7))
    #expect(circuit.state == .closed)
  }
}
