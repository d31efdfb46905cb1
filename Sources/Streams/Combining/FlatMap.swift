public import Synchronization

extension Observable {
  /// The elements of all the streams that `transform` returns, as they arrive.
  ///
  ///     source                ──a─────b──────|
  ///     flatMap { $0 twice }  ──a──a──b──b───|
  ///
  /// It completes when the source and all inner streams have completed; the first error ends it and cancels the others.
  @inlinable
  public func flatMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Observable<Result>
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let merge = Merge(sink)
      self.map(transform).start(sink.segment(), next: { merge.add($0) }, end: { merge.end($0) })
    }
  }

  /// The elements of the latest stream that `transform` returned; the one before is disposed.
  ///
  ///     source         ──a────────b──────|
  ///     inner          ──a1──a2──a3──    b1──b2──|
  ///     flatMapLatest  ──a1──a2───b1──b2──|
  ///
  /// It completes when the source and the latest inner stream have completed.
  @inlinable
  public func flatMapLatest<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Observable<Result>
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let merge = Merge(sink)
      let latest = Latest()
      self.map(transform).start(
        sink.segment(),
        next: { inner in
          let number = latest.number.add(1, ordering: .acquiringAndReleasing).newValue
          // Whichever claims the segment counts it out: the inner stream's own end, or the next inner stream.
          if let old = latest.segment, old.claim() {
            old.close()
            merge.end(nil)
          }
          // An element of the previous inner stream may still be on its way, on another thread.
          let step: @Sendable (Result) -> Void = {
            if latest.number.load(ordering: .acquiring) == number { sink.next($0) }
          }
          latest.segment = merge.add(inner, next: merge.serializer.serializing(step))
        }, end: { merge.end($0) })
    }
  }
}

extension Observable {
  /// The elements of all `sources`, as they arrive.
  ///
  ///     a              ──1─────3──|
  ///     b              ────2──────4──|
  ///     merge(a, b)    ──1─2───3──4──|
  ///
  /// It completes when all have completed; the first error ends it and cancels the others.
  @inlinable
  public static func merge(_ sources: [Observable<Element>]) -> Observable<Element> {
    Observable { sink in
      let merge = Merge(sink)
      for source in sources { merge.add(source) }
      merge.end(nil)
    }
  }

  /// The elements of all `sources`, as they arrive.
  @inlinable
  public static func merge(_ sources: Observable<Element>...) -> Observable<Element> { merge(sources) }
}

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

/// The current inner stream of `flatMapLatest`. `@unchecked Sendable`: `segment` is touched only in the source's
/// events.
@usableFromInline
final class Latest: @unchecked Sendable {
  @usableFromInline let number = Atomic<Int>(0)
  @usableFromInline var segment: Segment?

  @inlinable init() {}
}
