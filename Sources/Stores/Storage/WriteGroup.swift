import Streams
import SystemBase

/// Calls back once, when several writes are done; with the first error of those that are awaited.
final class WriteGroup: Sendable {
  private struct State {
    var count = 1
    var error: (any Error)?
    var completion: WriteCompletion?
  }

  private let state: Locked<State>

  /// Begins a group, which cannot end before `close`.
  init(then completion: @escaping WriteCompletion) { state = Locked(State(completion: completion)) }

  /// Adds a write; what is returned has to be called once, when it is done.
  func add() -> WriteCompletion {
    state.withLock { $0.count += 1 }
    return { self.leave($0) }
  }

  /// Says that no more writes are added, or why one more was not possible.
  func close(_ error: (any Error)? = nil) { leave(error) }

  private func leave(_ error: (any Error)?) {
    let (completion, failure) = state.withLock { state -> (WriteCompletion?, (any Error)?) in
      state.count -= 1
      state.error = state.error ?? error
      return (state.count == 0 ? exchange(&state.completion, with: nil) : nil, state.error)
    }
    completion?(failure)
  }
}

/// What a task waits for, and a callback brings.
final class Signal: Sendable {
  private let state = Locked<(isSent: Bool, waiter: CheckedContinuation<Void, Never>?)>((false, nil))

  func send() {
    let waiter = state.withLock { state in
      state.isSent = true
      return exchange(&state.waiter, with: nil)
    }
    waiter?.resume()
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isSent = state.withLock { state in
        if !state.isSent { state.waiter = continuation }
        return state.isSent
      }
      if isSent { continuation.resume() }
    }
  }
}
