public import Synchronization

/// Merges streams: counts those that are live, and lets their events through one at a time.
@usableFromInline
final class Merge<Element: Sendable>: Sendable {
  /// Receives the events, through `serializer`.
  @usableFromInline let target: Sink<Element>
  @usableFromInline let serializer: Serializer
  @usableFromInline let next: @Sendable (Element) -> Void
  @usableFromInline let children: Registry
  /// The number of inner streams that have not ended, plus one for the stream that adds them.
  @usableFromInline let live = Atomic<Int>(1)

  @inlinable init(_ sink: Sink<Element>) {
    target = sink
    serializer = sink.serializer()
    next = serializer.serializing(sink.next)
    children = sink.registry()
  }

  @inlinable func add(_ source: Observable<Element>) { _ = add(source, next: next) }

  @inlinable func add(_ source: Observable<Element>, next: @escaping @Sendable (Element) -> Void) -> Segment {
    live.add(1, ordering: .relaxed)
    let segment = children.child()
    source.start(segment, next: next, end: { self.end($0) })
    return segment
  }

  @inlinable func end(_ error: (any Error)?) {
    // A stream that failed stays counted. Otherwise another one's completion could bring the count to 0 and be sent
    // before the error.
    if error != nil || live.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      serializer.send(error, to: target.end)
    }
  }
}
