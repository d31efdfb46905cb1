/// What a buffer does with elements that come faster than they are taken.
public enum BufferingPolicy: Sendable, Hashable {
  /// Keeps all; memory is the only bound.
  case unbounded
  /// Keeps the oldest, at most so many, and drops what comes when it is full.
  case bufferingOldest(Int)
  /// Keeps the newest, at most so many, and drops the oldest when it is full.
  case bufferingNewest(Int)
}

/// The elements of an ``Observable`` as an asynchronous sequence.
public struct AsyncValues<Element: Sendable>: AsyncSequence, Sendable {
  let source: Observable<Element>
  let policy: BufferingPolicy

  /// Subscribes, and iterates over what comes.
  public func makeAsyncIterator() -> AsyncThrowingStream<Element, any Error>.Iterator {
    let buffering: AsyncThrowingStream<Element, any Error>.Continuation.BufferingPolicy =
      switch policy {
      case .unbounded: .unbounded
      case .bufferingOldest(let limit): .bufferingOldest(limit)
      case .bufferingNewest(let limit): .bufferingNewest(limit)
      }
    return AsyncThrowingStream(bufferingPolicy: buffering) { continuation in
      let segment = Segment()
      continuation.onTermination = { _ in segment.dispose() }
      source.start(segment, next: { continuation.yield($0) }, end: { continuation.finish(throwing: $0) })
    }.makeAsyncIterator()
  }
}
