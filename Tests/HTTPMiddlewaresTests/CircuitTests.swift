import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

/// The same circuit in other words: keeps every call, and looks back over all of them.
private struct Model {
  let policy: CircuitBreakerPolicy
  var calls: [(part: Int, isFailure: Bool)] = []
  var openUntil: Duration?
  /// The last trial, and whether another one may begin.
  var trial: (number: Int, givenUpAt: Duration)?
  var phase = 0
  var trials = 0

  func part(_ time: Duration) -> Int { Int(time / (policy.window / 10)) }

  var state: CircuitState { trial != nil ? .halfOpen : openUntil != nil ? .open : .closed }

  mutating func enter(_ now: Duration) -> (phase: Int, trial: Int)? {
    if let until = openUntil ?? trial?.givenUpAt {
      guard now >= until else { return nil }
      if openUntil != nil { phase += 1 }
      openUntil = nil
      trials += 1
      trial = (trials, now + policy.openDuration)
    }
    return (phase, trials)
  }

  mutating func leave(_ pass: (phase: Int, trial: Int), _ outcome: Circuit.Outcome, _ now: Duration) {
    guard pass.phase == phase, openUntil == nil else { return }
    if trial != nil {
      switch outcome {
      case .succeeded: (trial, calls, phase) = (nil, [], phase + 1)
      case .failed: (trial, openUntil, phase) = (nil, now + policy.openDuration, phase + 1)
      case .abandoned: if pass.trial == trial?.number { trial = (pass.trial, now) }
      }
    } else if outcome != .abandoned {
      calls.append((part(now), outcome == .failed))
      let recent = calls.filter { $0.part > part(now) - 10 }
      let failures = recent.count { $0.isFailure }
      if outcome == .failed, recent.count >= policy.minimumCalls,
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
  @Test func `a success opens no circuit, even if it completes the minimum of calls`() {
    var circuit = Circuit(CircuitBreakerPolicy())
    var states: [CircuitState] = []
    for number in 0..<40 {
      guard let pass = circuit.enter(at: .zero) else { break }
      circuit.leave(pass, number < 10 ? .failed : .succeeded, at: .zero)
      states.append(circuit.state)
    }
    #expect(states == Array(repeating: .closed, count: 40))
  }

  @Test(arguments: 0..<50)
  func `a circuit does what its model does under random events`(seed: UInt64) {
    var dice = SplitMix(seed: seed)
    let policy = CircuitBreakerPolicy(
      failureRate: [0.2, 0.4, 0.6].randomElement(using: &dice) ?? 0.6, minimumCalls: .random(in: 1...6, using: &dice),
      window: .seconds(Int.random(in: 1...4, using: &dice)), openDuration: .seconds(1))
    var circuit = Circuit(policy)
    var model = Model(policy: policy)
    var now = Duration.zero
    var calls: [(Circuit.Pass, (phase: Int, trial: Int))] = []
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

  @Test(arguments: 1...20)
  func `a trial that takes longer than the circuit's pause still closes it`(answerInTenths: Int) {
    let policy = CircuitBreakerPolicy(minimumCalls: 1, openDuration: .seconds(1))
    var circuit = Circuit(policy)
    if let pass = circuit.enter(at: .zero) { circuit.leave(pass, .failed, at: .zero) }
    var underWay: [(pass: Circuit.Pass, end: Duration)] = []
    var refused = 0
    // A caller every 10 ms; each is answered well, some time later.
    for tick in 100..<1000 {
      let now = Duration.milliseconds(10 * tick)
      for call in underWay where call.end <= now { circuit.leave(call.pass, .succeeded, at: now) }
      underWay.removeAll { $0.end <= now }
      if let pass = circuit.enter(at: now) {
        underWay.append((pass, now + .milliseconds(100 * answerInTenths)))
      } else {
        refused += 1
      }
    }
    // Calls that come during the first trial, but for the trials that join it.
    #expect(refused <= 10 * answerInTenths)
    #expect(circuit.state == .closed)
  }

  @Test func `a slow trial that is cancelled does not admit another one beside a later one`() throws {
    var circuit = Circuit(CircuitBreakerPolicy(minimumCalls: 1, openDuration: .seconds(1)))
    let pass = circuit.enter(at: .zero)
    circuit.leave(try #require(pass), .failed, at: .zero)
    let (first, second) = (circuit.enter(at: .seconds(1)), circuit.enter(at: .seconds(2)))
    circuit.leave(try #require(first), .abandoned, at: .seconds(2))
    let early = circuit.enter(at: .seconds(2.5))
    #expect(early == nil)
    circuit.leave(try #require(second), .abandoned, at: .seconds(2.5))
    let third = circuit.enter(at: .seconds(2.5))
    #expect(third != nil)
  }
}
