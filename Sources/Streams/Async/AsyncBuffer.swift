/// What a stream has said and a task has not taken yet. As a teardown it ends the wait for what no longer comes.
@usableFromInline
final class AsyncBuffer<Element: Sendable>: Node, @unchecked Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var elements = Fifo<Element>()
    @usableFromInline var end: (any Error)??
    @usableFromInline var waiting: [UnsafeContinuation<Void, Never>] = []
    @inlinable init() {}
  }

  @usableFromInline
  enum Taken {
    case elements(Fifo<Element>)
    case end((any Error)?)
  }

  @usableFromInline let segment = Segment()
  @usableFromInline let policy: BufferingPolicy
  @usableFromInline let state = Guarded(State())

  @inlinable init(_ policy: BufferingPolicy) { self.policy = policy }

  @inlinable func append(_ element: Element) {
    // What has no room is released after the lock: its deinit may be anybody's.
    let (dropped, waiting) = state.withLock { state -> (Element?, [UnsafeContinuation<Void, Never>]) in
      var dropped: Element?
      // One that is waited for does not stay in the buffer.
      let isFull = state.waiting.isEmpty && policy.isFull(state.elements.count)
      if isFull { dropped = policy.keepsNewest ? state.elements.popFirst() : element }
      if !isFull || dropped != nil && policy.keepsNewest { state.elements.append(element) }
      return (dropped, state.waiting.isEmpty ? [] : exchange(&state.waiting, with: []))
    }
    for continuation in waiting { continuation.resume() }
    _ = dropped
  }

  /// The first end is the one that counts.
  @usableFromInline func finish(_ error: (any Error)?) {
    let waiting = state.withLock { state in
      if state.end == nil { state.end = .some(error) }
      return exchange(&state.waiting, with: [])
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Disposes the subscription, and drops what is left.
  @usableFromInline func cancel() {
    finish(nil)
    segment.dispose()
    let dropped = state.withLock { state in
      (exchange(&state.elements, with: Fifo()), exchange(&state.end, with: .some(nil)))
    }
    _ = dropped
  }

  /// The source has let go of the stream before its end.
  @usableFromInline override func run() { finish(CancellationError()) }

  /// All that is here, if there is no bound: the lock is then taken once for many elements. Under a bound one at a time, so
  /// that no more are kept than it says.
  @inlinable func take() -> Taken? {
    state.withLock { state -> Taken? in
      if state.elements.isEmpty {
        guard let end = state.end else { return nil }
        state.end = .some(nil)
        return .end(end)
      }
      if policy == .unbounded { return .elements(exchange(&state.elements, with: Fifo())) }
      var one = Fifo<Element>()
      if let element = state.elements.popFirst() { one.append(element) }
      return .elements(one)
    }
  }

  /// Returns when there is something to take, or when the task is cancelled.
  @usableFromInline func wait(isolation actor: isolated (any Actor)?) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let isReady = state.withLock { state in
          if !state.elements.isEmpty || state.end != nil { return true }
          state.waiting.append(continuation)
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      cancel()
    }
  }
}
