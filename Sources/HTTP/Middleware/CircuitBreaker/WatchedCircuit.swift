import Streams

/// A circuit behind a lock. Its states can be observed: they are emitted in order, and never under the lock.
final class WatchedCircuit: Sendable {
  private struct State {
    var circuit: Circuit
    var untold: [CircuitState] = []
    var isTelling = false
  }

  private let state: Locked<State>
  private let subject = BehaviorSubject(value: CircuitState.closed)

  init(_ policy: CircuitBreakerPolicy) {
    state = Locked(State(circuit: Circuit(policy)))
  }

  var states: Observable<CircuitState> { subject.asObservable() }

  /// Calls a closure with the circuit under the lock, then emits the states that have resulted.
  func change<Result: Sendable>(_ body: (inout Circuit) -> Result) -> Result {
    let (result, tells) = state.withLock { state in
      let before = state.circuit.state
      let result = body(&state.circuit)
      if state.circuit.state != before { state.untold.append(state.circuit.state) }
      let tells = !state.untold.isEmpty && !state.isTelling
      if tells { state.isTelling = true }
      return (result, tells)
    }
    while tells, let next = nextUntold() { subject.onNext(next) }
    return result
  }

  private func nextUntold() -> CircuitState? {
    state.withLock { state in
      guard !state.untold.isEmpty else {
        state.isTelling = false
        return nil
      }
      return state.untold.removeFirst()
    }
  }
}
