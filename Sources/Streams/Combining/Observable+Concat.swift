extension Observable {
  /// The elements of `sources`, one source after the other. The next is subscribed to when the one before has completed
  /// and is torn down.
  ///
  ///     a              ──1──2──|
  ///     b                      ──3──|
  ///     concat(a, b)   ──1──2────3──|
  public static func concat(_ sources: [Observable<Element>]) -> Observable<Element> {
    if sources.isEmpty { return .empty() }
    return Observable { Concat(sources, $0).advance(to: 0) }
  }

  /// The elements of `sources`, one source after the other.
  public static func concat(_ sources: Observable<Element>...) -> Observable<Element> { concat(sources) }

  /// This stream, then `second`. A stream may go on as itself: this one asks every 30 seconds, and takes no more room with
  /// each time.
  ///
  ///     func poll() -> Observable<Answer> {
  ///       let pause = Observable<Answer>.empty().delay(.seconds(30), scheduler: scheduler)
  ///       return .concat(ask, pause, .deferred { poll() })
  ///     }
  public func concat(_ second: Observable<Element>) -> Observable<Element> { .concat([self, second]) }

  /// The elements of the streams that `transform` makes, one stream after the other.
  ///
  ///     source      ──a──b─────────────|
  ///     concatMap   ──a1──a2──b1──b2───|
  ///
  /// The streams that wait are kept without a bound. The first error ends it, the source's without waiting its turn.
  @inlinable
  public func concatMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> Observable<Result>
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let concat = ConcatMap(sink.serialized())
      self.map(transform).start(
        sink.segment(),
        next: { inner in
          concat.add(inner)
          concat.advance()
        },
        end: { error in
          concat.end(error)
          concat.advance()
        })
    }
  }
}
