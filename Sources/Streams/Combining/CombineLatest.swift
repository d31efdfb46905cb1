extension Observable {
  /// The latest elements of both sources, whenever either has a new one.
  ///
  ///     a                    ──1─────2──────3──|
  ///     b                    ────a──────b──|
  ///     combineLatest(a, b)  ────1a──2a─2b──3b─|
  ///
  /// The first result comes when each source has sent an element. Completes when both sources have completed, or when
  /// one completes without an element; the first error ends it.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>,
    resultSelector: @escaping @Sendable (A, B) throws -> Element
  ) -> Observable<Element> {
    Observable { sink in
      let serializer = sink.serializer()
      let (first, second, live) = (Cell<A?>(nil), Cell<B?>(nil), Cell(2))
      let emit: @Sendable () -> Void = {
        guard let one = first.value, let two = second.value else { return }
        do { sink.next(try resultSelector(one, two)) } catch { sink.end(error) }
      }
      let onFirst: @Sendable (A) -> Void = {
        first.value = $0
        emit()
      }
      let onSecond: @Sendable (B) -> Void = {
        second.value = $0
        emit()
      }
      let end: @Sendable ((any Error)?, Bool) -> Void = { error, isEmpty in
        live.value -= 1
        if error != nil || isEmpty || live.value == 0 { sink.end(error) }
      }
      source1.start(
        sink.segment(), next: serializer.serializing(onFirst),
        end: serializer.serializing { end($0, first.value == nil) })
      source2.start(
        sink.segment(), next: serializer.serializing(onSecond),
        end: serializer.serializing { end($0, second.value == nil) })
    }
  }

  /// The latest elements of all sources, whenever any of them has a new one.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable, C: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>,
    resultSelector: @escaping @Sendable (A, B, C) throws -> Element
  ) -> Observable<Element> {
    combineLatest(Observable<(A, B)>.combineLatest(source1, source2), source3) { try resultSelector($0.0, $0.1, $1) }
  }

  /// The latest elements of all sources, whenever any of them has a new one.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>, _ source4: Observable<D>,
    resultSelector: @escaping @Sendable (A, B, C, D) throws -> Element
  ) -> Observable<Element> {
    combineLatest(Observable<(A, B, C)>.combineLatest(source1, source2, source3), source4) {
      try resultSelector($0.0, $0.1, $0.2, $1)
    }
  }

  /// The latest elements of both sources, whenever either has a new one.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>
  ) -> Observable<Element> where Element == (A, B) {
    combineLatest(source1, source2) { ($0, $1) }
  }

  /// The latest elements of all sources, whenever any of them has a new one.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable, C: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>
  ) -> Observable<Element> where Element == (A, B, C) {
    combineLatest(source1, source2, source3) { ($0, $1, $2) }
  }

  /// The latest elements of all sources, whenever any of them has a new one.
  @inlinable
  public static func combineLatest<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>, _ source4: Observable<D>
  ) -> Observable<Element> where Element == (A, B, C, D) {
    combineLatest(source1, source2, source3, source4) { ($0, $1, $2, $3) }
  }

  /// Each element, combined with the latest element of `second`. Elements before the first one of `second` are dropped.
  ///
  ///     source           ──1──────2──3──|
  ///     second           ─────a────b────
  ///     withLatestFrom   ─────────2a─3b─|
  ///
  /// It ends with the source. An error of `second` ends it, too; completion of `second` does not.
  @inlinable
  public func withLatestFrom<Other: Sendable, Result: Sendable>(
    _ second: Observable<Other>, resultSelector: @escaping @Sendable (Element, Other) throws -> Result
  ) -> Observable<Result> {
    Observable<Result> { sink in
      let serializer = sink.serializer()
      let latest = Cell<Other?>(nil)
      let onNext: @Sendable (Element) -> Void = { element in
        guard let other = latest.value else { return }
        do { sink.next(try resultSelector(element, other)) } catch { sink.end(error) }
      }
      second.start(
        sink.segment(), next: serializer.serializing { latest.value = $0 },
        end: serializer.serializing { error in
          if let error { sink.end(error) }
        })
      self.start(sink.segment(), next: serializer.serializing(onNext), end: serializer.serializing(sink.end))
    }
  }

  /// The latest element of `second`, each time the source sends one. Nothing before the first one of `second`.
  @inlinable
  public func withLatestFrom<Other: Sendable>(_ second: Observable<Other>) -> Observable<Other> {
    withLatestFrom(second) { $1 }
  }
}
