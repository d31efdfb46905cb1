public import Synchronization

extension Observable {
  /// The elements of all the streams that `transform` makes, as they come.
  ///
  ///     source                ──a─────b──────|
  ///     flatMap { $0 twice }  ──a──a──b──b───|
  ///
  /// It completes when the source and all inner streams have; the first error ends it and cancels the others.
  @inlinable
  public func flatMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Observable<Result>
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let merge = Merge(sink)
      let outer = Segment()
      sink.lifetime.add(outer)
      self.map(transform).start(outer, next: { merge.add($0) }, end: { merge.end($0) })
    }
  }
}

/// Merges streams: counts those that are alive, and lets one speak at a time.
@usableFromInline
final class Merge<Element: Sendable>: Sendable {
  @usableFromInline let sink: Sink<Element>
  @usableFromInline let serializer: Serializer
  @usableFromInline let children = Registry()
  /// The live inner streams, and the outer one.
  @usableFromInline let live = Atomic<Int>(1)

  @usableFromInline init(_ sink: Sink<Element>) {
    self.sink = sink
    serializer = Serializer(sink.lifetime)
    sink.lifetime.add(serializer)
    sink.lifetime.add(children)
  }

  @inlinable func add(_ source: Observable<Element>) {
    live.add(1, ordering: .relaxed)
    let sink = sink
    let serializer = serializer
    source.start(children.child(), next: { serializer.send($0, to: sink.next) }, end: { self.end($0) })
  }

  @inlinable func end(_ error: (any Error)?) {
    if live.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 || error != nil {
      serializer.send(error, to: sink.end)
    }
  }
}
