/// The elements that a stream has sent and a task has not taken yet. As a teardown, it ends the task's wait.
///
/// `@unchecked Sendable`, as every `Node`: what it adds is constant or under a lock.
@usableFromInline
final class AsyncBuffer<Element: Sendable>: Node, @unchecked Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var elements = Fifo<Element>()
    @usableFromInline var end: (any Error)??
    @usableFromInline var waiting = Fifo<UnsafeContinuation<Taken, Never>>()
    @inlinable init() {}

    /// Without a bound, takes all elements, so that the lock is taken once for many. With a bound, takes one at a time,
    /// so that no more than the bound are kept. An error is taken once.
    @inlinable mutating func take(_ policy: BufferingPolicy) -> Taken? {
      if !elements.isEmpty && policy == .unbounded { return .elements(exchange(&elements, with: Fifo())) }
      if let element = elements.popFirst() { return .element(element) }
      guard let end else { return nil }
      self.end = .some(nil)
      return .end(end)
    }
  }

  @usableFromInline
  enum Taken: Sendable {
    case element(Element)
    case elements(Fifo<Element>)
    case end((any Error)?)
  }

  @usableFromInline let segment = Segment()
  @usableFromInline let policy: BufferingPolicy
  @usableFromInline let state = Guarded(State())

  @inlinable init(_ policy: BufferingPolicy) { self.policy = policy }

  @inlinable func append(_ element: Element) {
    // A dropped element is released after the lock: its deinit may run foreign code.
    let (waiting, dropped) = state.withLock { state -> (UnsafeContinuation<Taken, Never>?, Element?) in
      // An element that a task waits for goes straight to that task, and takes no room in the buffer.
      if let waiting = state.waiting.popFirst() { return (waiting, nil) }
      let isFull = policy.isFull(state.elements.count)
      if isFull && !policy.keepsNewest { return (nil, element) }
      state.elements.append(element)
      return (nil, isFull ? state.elements.popFirst() : nil)
    }
    waiting?.resume(returning: .element(element))
    _ = dropped
  }

  /// Only the first call counts.
  @usableFromInline func finish(_ error: (any Error)?) {
    let resumed = state.withLock { state in
      if state.end == nil { state.end = .some(error) }
      var resumed: [(UnsafeContinuation<Taken, Never>, Taken)] = []
      while let waiting = state.waiting.popFirst() { resumed.append((waiting, state.take(policy) ?? .end(nil))) }
      return resumed
    }
    for (waiting, end) in resumed { waiting.resume(returning: end) }
  }

  /// Disposes the subscription, and drops the remaining elements.
  @usableFromInline func cancel() {
    finish(nil)
    segment.dispose()
    let dropped = state.withLock { state in
      (exchange(&state.elements, with: Fifo()), exchange(&state.end, with: .some(nil)))
    }
    _ = dropped
  }

  /// The source released the stream before its end.
  @usableFromInline override func run() { finish(CancellationError()) }

  @inlinable func take() -> Taken? { state.withLock { $0.take(policy) } }

  /// The next element, or elements, or the end; an end without an error if the task is cancelled.
  @usableFromInline func wait(isolation actor: isolated (any Actor)?) async -> Taken {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let taken = state.withLock { state in
          let taken = state.take(policy)
          if taken == nil { state.waiting.append(continuation) }
          return taken
        }
        if let taken { continuation.resume(returning: taken) }
      }
    } onCancel: {
      cancel()
    }
  }
}
