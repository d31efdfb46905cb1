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
