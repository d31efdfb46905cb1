import Dispatch
import Synchronization

/// A value under a lock that others can wait on: every change wakes those whose condition it fulfils.
///
/// With it a test waits for what happens, at most until a deadline, and never sleeps.
package final class Monitor<Value: Sendable>: Sendable {
  private struct Waiter {
    let id: UInt64
    let isFulfilled: @Sendable (Value) -> Bool
    let resume: @Sendable (Result<Value, any Error>) -> Void
  }

  private struct State {
    var value: Value
    var waiters: [Waiter] = []
    var nextID: UInt64 = 0
  }

  private let state: Mutex<State>

  package init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  package var value: Value {
    state.withLock { $0.value }
  }

  /// Changes the value, then resumes those who waited for what it has become. `change` runs under the lock.
  @discardableResult
  package func update<Output: Sendable>(_ change: (inout Value) throws -> Output) rethrows -> Output {
    let (output, value, fulfilled): (Output, Value?, [Waiter]) = try state.withLock { state in
      let output = try change(&state.value)
      let fulfilled = state.waiters.filter { $0.isFulfilled(state.value) }
      guard !fulfilled.isEmpty else { return (output, nil, []) }
      state.waiters.removeAll { waiter in fulfilled.contains { $0.id == waiter.id } }
      return (output, state.value, fulfilled)
    }
    if let value {
      for waiter in fulfilled { waiter.resume(.success(value)) }
    }
    return output
  }

  /// Gives the first value that fulfils the condition, which may be the present one.
  ///
  /// - Throws: `TimedOut` when the limit has passed, `CancellationError` when the task is cancelled.
  @discardableResult
  package func wait(
    for what: String = "a condition",
    within limit: Duration = .seconds(60),
    file: StaticString = #fileID,
    line: UInt = #line,
    until isFulfilled: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    let id = makeID()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        add(Waiter(id: id, isFulfilled: isFulfilled) { continuation.resume(with: $0) })
        DispatchQueue.global().asyncAfter(deadline: .now() + limit.dispatchInterval) { [weak self] in
          guard let self else { return }
          fail(id, TimedOut(what: what, limit: limit, state: "\(value)", location: "\(file):\(line)"))
        }
        // A cancellation that came before the waiter was added has found nobody to resume.
        if Task.isCancelled { fail(id, CancellationError()) }
      }
    } onCancel: {
      fail(id, CancellationError())
    }
  }

  /// Calls `action` once, with the first value that fulfils the condition: now, or from the thread that sets it.
  package func when(
    _ isFulfilled: @escaping @Sendable (Value) -> Bool, then action: @escaping @Sendable (Value) -> Void
  ) {
    add(
      Waiter(id: makeID(), isFulfilled: isFulfilled) { result in
        if case .success(let value) = result { action(value) }
      })
  }

  private func makeID() -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
  }

  private func add(_ waiter: Waiter) {
    let present: Value? = state.withLock { state in
      if waiter.isFulfilled(state.value) { return state.value }
      state.waiters.append(waiter)
      return nil
    }
    if let present { waiter.resume(.success(present)) }
  }

  private func fail(_ id: UInt64, _ error: any Error) {
    let waiter: Waiter? = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    waiter?.resume(.failure(error))
  }
}

/// A gate that opens once and stays open.
package final class Latch: Sendable {
  private let monitor = Monitor(false)

  package init() {}

  package var isOpen: Bool { monitor.value }

  package func open() {
    monitor.update { $0 = true }
  }

  /// Returns when the latch is open.
  ///
  /// - Throws: `TimedOut` when the limit has passed, `CancellationError` when the task is cancelled.
  package func wait(
    for what: String = "a latch to open",
    within limit: Duration = .seconds(60),
    file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await monitor.wait(for: what, within: limit, file: file, line: line) { $0 }
  }

  /// Calls `action` once when the latch is open: now, or from the thread that opens it.
  package func whenOpen(_ action: @escaping @Sendable () -> Void) {
    monitor.when({ $0 }, then: { _ in action() })
  }
}

/// What a wait throws when its limit has passed.
package struct TimedOut: Error, CustomStringConvertible {
  package let what: String
  package let limit: Duration
  package let state: String
  package let location: String

  package init(what: String, limit: Duration, state: String, location: String) {
    self.what = what
    self.limit = limit
    self.state = state
    self.location = location
  }

  package var description: String {
    "Waited \(limit) for \(what) at \(location); the state was: \(state.prefix(2000))"
  }
}

extension Duration {
  var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(Int(clamping: components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
  }

  /// Rounded up, so that waiting that long does not end too early.
  var milliseconds: Int32 {
    Int32(clamping: components.seconds * 1000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
