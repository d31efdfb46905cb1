public import SystemBase

extension Observable {
  /// Pairs the first elements, then the second ones, and so on.
  ///
  ///     a              ──1─────2──────3──|
  ///     b              ────a──────b──|
  ///     zip(a, b)      ────1a─────2b─|
  ///
  /// It completes when a source has completed and none of its elements waits for a partner; the first error ends it.
  /// Waiting elements are kept without a bound.
  @inlinable
  public static func zip<A: Sendable, B: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>,
    resultSelector: @escaping @Sendable (A, B) throws -> Element
  ) -> Observable<Element> {
    Observable { sink in
      let serializer = sink.serializer()
      let (first, second) = (ZipSide<A>(), ZipSide<B>())
      let match: @Sendable () -> Void = {
        if !second.waiting.isEmpty, let one = first.waiting.popFirst(), let two = second.waiting.popFirst() {
          do { sink.next(try resultSelector(one, two)) } catch { return sink.end(error) }
        }
        if first.isOver || second.isOver { sink.endIfOpen() }
      }
      first.start(source1, in: sink, serializer, match)
      second.start(source2, in: sink, serializer, match)
    }
  }

  /// Pairs the first elements, then the second ones, and so on.
  @inlinable
  public static func zip<A: Sendable, B: Sendable, C: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>,
    resultSelector: @escaping @Sendable (A, B, C) throws -> Element
  ) -> Observable<Element> {
    zip(Observable<(A, B)>.zip(source1, source2), source3) { try resultSelector($0.0, $0.1, $1) }
  }

  /// The first elements together, then the second ones, and so on.
  @inlinable
  public static func zip<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>, _ source4: Observable<D>,
    resultSelector: @escaping @Sendable (A, B, C, D) throws -> Element
  ) -> Observable<Element> {
    zip(Observable<(A, B, C)>.zip(source1, source2, source3), source4) { try resultSelector($0.0, $0.1, $0.2, $1) }
  }

  /// The first elements together, then the second ones, and so on.
  @inlinable
  public static func zip<A: Sendable, B: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>
  ) -> Observable<Element> where Element == (A, B) {
    zip(source1, source2) { ($0, $1) }
  }

  /// Combines the first elements, then the second ones, and so on.
  @inlinable
  public static func zip<A: Sendable, B: Sendable, C: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>
  ) -> Observable<Element> where Element == (A, B, C) {
    zip(source1, source2, source3) { ($0, $1, $2) }
  }

  /// Combines the first elements, then the second ones, and so on.
  @inlinable
  public static func zip<A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
    _ source1: Observable<A>, _ source2: Observable<B>, _ source3: Observable<C>, _ source4: Observable<D>
  ) -> Observable<Element> where Element == (A, B, C, D) {
    zip(source1, source2, source3, source4) { ($0, $1, $2, $3) }
  }

  /// Combines the first elements of all `sources`, in their order, then the second ones, and so on. Without sources it
  /// completes at once.
  @inlinable
  public static func zip<A: Sendable>(_ sources: [Observable<A>]) -> Observable<Element> where Element == [A] {
    if sources.isEmpty { return .empty() }
    return Observable { sink in
      let serializer = sink.serializer()
      let sides = sources.map { _ in ZipSide<A>() }
      // All sides are looked at only when a row is complete: there may be many.
      let tally = Cell((empty: sides.count, isOver: false))
      let match: @Sendable (ZipSide<A>) -> Void = { side in
        if !side.isEnded && side.waiting.count == 1 { tally.value.empty -= 1 }
        tally.value.isOver = tally.value.isOver || side.isOver
        if tally.value.empty == 0 {
          let row = sides.compactMap { $0.waiting.popFirst() }
          tally.value = (sides.count { $0.waiting.isEmpty }, sides.contains(where: \.isOver))
          sink.next(row)
        }
        if tally.value.isOver { sink.endIfOpen() }
      }
      for (side, source) in Swift.zip(sides, sources) { side.start(source, in: sink, serializer) { match(side) } }
    }
  }
}

/// One source of a zip, and its elements that wait for partners.
///
/// `@unchecked Sendable`: it is touched only inside the zip's serializer.
@usableFromInline
final class ZipSide<Element: Sendable>: @unchecked Sendable {
  @usableFromInline var waiting = Fifo<Element>()
  @usableFromInline var isEnded = false

  @inlinable init() {}

  @inlinable var isOver: Bool { isEnded && waiting.isEmpty }

  @inlinable
  func start<Result: Sendable>(
    _ source: Observable<Element>, in sink: Sink<Result>, _ serializer: Serializer,
    _ match: @escaping @Sendable () -> Void
  ) {
    let onNext: @Sendable (Element) -> Void = { element in
      self.waiting.append(element)
      match()
    }
    let onEnd: @Sendable ((any Error)?) -> Void = { error in
      if let error { return sink.end(error) }
      self.isEnded = true
      match()
    }
    source.start(sink.segment(), next: serializer.serializing(onNext), end: serializer.serializing(onEnd))
  }
}
