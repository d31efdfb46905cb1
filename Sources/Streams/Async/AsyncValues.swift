public import SystemBase

extension Observable {
  /// The elements as an asynchronous sequence that loses none, as ``values(bufferingPolicy:)`` with `.unbounded`.
  ///
  ///     for try await element in stream.values { … }
  ///
  /// The memory that it takes has no bound: elements wait until the loop takes them. If the source may be faster than
  /// the loop for long, name a bound.
  public var values: AsyncValues<Element> { values(bufferingPolicy: .unbounded) }

  /// The elements as an asynchronous sequence. Each iteration is a subscription of its own.
  ///
  /// Elements are buffered by `bufferingPolicy`, since a source that pushes cannot be held back otherwise. Leaving the
  /// loop, or cancelling its task, disposes the subscription. If the stream fails, the loop throws its error. Elements
  /// that a source sends synchronously, while it is being subscribed to, are buffered before the loop begins, and
  /// cancelling has no effect until then.
  ///
  /// If a subject goes away without an end, the loop throws `CancellationError`. Nothing tells that the closure of
  /// ``create(_:)`` has dropped its observer: the loop then waits until its task is cancelled.
  public func values(bufferingPolicy: BufferingPolicy) -> AsyncValues<Element> {
    AsyncValues(source: self, policy: bufferingPolicy)
  }
}

/// What a buffer does with elements that arrive faster than they are taken.
@frozen
public enum BufferingPolicy: Sendable, Hashable {
  /// Keeps all elements; only memory limits them.
  case unbounded
  /// Keeps the oldest elements, up to this number, and drops new ones while it is full.
  case bufferingOldest(Int)
  /// Keeps the newest elements, up to this number, and drops the oldest when it is full.
  case bufferingNewest(Int)

  @inlinable var keepsNewest: Bool {
    if case .bufferingNewest = self { true } else { false }
  }

  @inlinable func isFull(_ count: Int) -> Bool {
    switch self {
    case .unbounded: false
    case .bufferingOldest(let limit), .bufferingNewest(let limit): count >= limit
    }
  }
}

/// The elements of an ``Observable`` as an asynchronous sequence; see ``Observable/values(bufferingPolicy:)``.
public struct AsyncValues<Element: Sendable>: AsyncSequence, Sendable {
  @usableFromInline let source: Observable<Element>
  @usableFromInline let policy: BufferingPolicy

  @inlinable init(source: Observable<Element>, policy: BufferingPolicy) {
    self.source = source
    self.policy = policy
  }

  /// Subscribes, and returns an iterator over the elements. In a task that is already cancelled, it does not subscribe.
  @inlinable
  public func makeAsyncIterator() -> Iterator {
    let buffer = AsyncBuffer<Element>(policy)
    buffer.segment.add(buffer)
    if Task.isCancelled { buffer.cancel() }
    source.start(buffer.segment, next: { buffer.append($0) }, end: { buffer.finish($0) })
    return Iterator(buffer)
  }

  /// Takes the elements one after another. Copies of an iterator share one subscription, and each element goes to one
  /// of them. When the last copy goes away, the subscription is disposed.
  public struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let buffer: AsyncBuffer<Element>
    @usableFromInline let owner: Owner

    @inlinable init(_ buffer: AsyncBuffer<Element>) {
      self.buffer = buffer
      owner = Owner(buffer.segment)
    }

    /// The next element; nil after completion, or if the task is cancelled.
    /// - Throws: the stream's error, once; or `CancellationError` if a subject goes away before its end.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      while !Task.isCancelled {
        if let element = owner.taken.popFirst() { return element }
        let next = if let next = buffer.take() { next } else { await buffer.wait(isolation: actor) }
        switch next {
        case .element(let element): owner.taken.append(element)
        case .elements(let elements): owner.add(elements)
        case .end(let error?): throw error
        case .end(nil): return nil
        }
      }
      buffer.cancel()
      owner.taken = Fifo()
      return nil
    }

    /// The next element; nil after completion, or if the task is cancelled.
    /// - Throws: the stream's error, once; or `CancellationError` if a subject goes away before its end.
    @inlinable public mutating func next() async throws -> Element? { try await next(isolation: nil) }
  }

  /// What the copies of an iterator share; the last one disposes the subscription. It is not `Sendable`, and neither is
  /// an iterator, so that no two threads are in here at once.
  @usableFromInline
  final class Owner {
    private let segment: Segment
    /// What was taken out of the buffer at once.
    @exclusivity(unchecked) @usableFromInline var taken = Fifo<Element>()

    @usableFromInline init(_ segment: Segment) { self.segment = segment }

    deinit { segment.dispose() }

    /// While a copy waited, another one may have taken elements that are still here.
    @inlinable func add(_ elements: Fifo<Element>) {
      if taken.isEmpty { return taken = elements }
      var elements = elements
      while let element = elements.popFirst() { taken.append(element) }
    }
  }
}

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
  @usableFromInline let state = Locked(State())

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
    withExtendedLifetime(dropped) {}
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
    withExtendedLifetime(dropped) {}
  }

  /// The subscription was disposed from above: its subject went away before an end.
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
