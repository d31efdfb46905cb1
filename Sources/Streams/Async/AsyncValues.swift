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

  /// Takes the elements one after another. When the last copy goes away, the subscription is disposed.
  public struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let buffer: AsyncBuffer<Element>
    @usableFromInline let owner: Owner
    /// What was taken out of the buffer at once.
    @usableFromInline var taken = Fifo<Element>()

    @inlinable init(_ buffer: AsyncBuffer<Element>) {
      self.buffer = buffer
      owner = Owner(buffer.segment)
    }

    /// The next element; nil after completion, or if the task is cancelled.
    /// - Throws: the stream's error, once; or `CancellationError` if the source lets go of the stream before its end.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      while !Task.isCancelled {
        if let element = taken.popFirst() { return element }
        let next = if let next = buffer.take() { next } else { await buffer.wait(isolation: actor) }
        switch next {
        case .element(let element): taken.append(element)
        case .elements(let elements): taken = elements
        case .end(let error?): throw error
        case .end(nil): return nil
        }
      }
      buffer.cancel()
      taken = Fifo()
      return nil
    }

    /// The next element; nil after completion, or if the task is cancelled.
    /// - Throws: the stream's error, once; or `CancellationError` if the source lets go of the stream before its end.
    @inlinable public mutating func next() async throws -> Element? { try await next(isolation: nil) }
  }

  /// Disposes the subscription with the last copy of an iterator.
  @usableFromInline
  final class Owner: Sendable {
    private let segment: Segment
    @usableFromInline init(_ segment: Segment) { self.segment = segment }
    deinit { segment.dispose() }
  }
}
