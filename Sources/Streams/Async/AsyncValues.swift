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
    /// - Throws: the stream's error, once; or `CancellationError` if the source releases the stream before its end.
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
    /// - Throws: the stream's error, once; or `CancellationError` if the source releases the stream before its end.
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
