extension Observable {
  /// All but the first `count` elements; all of them if `count` is 0 or less.
  ///
  ///     source   ──1──2──3──4──|
  ///     skip(2)  ────────3──4──|
  @inlinable
  public func skip(_ count: Int) -> Observable<Element> {
    Observable { sink in
      let remaining = Cell(count)
      self.start(
        Sink(
          next: { element in
            if remaining.value > 0 { remaining.value -= 1 } else { sink.next(element) }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }

  /// `elements` first, then the source.
  ///
  ///     source            ──1──2──|
  ///     startWith(8, 9)   89──1──2──|
  @inlinable
  public func startWith(_ elements: Element...) -> Observable<Element> {
    Observable { sink in
      for element in elements {
        if sink.lifetime.isClosed { return }
        sink.next(element)
      }
      if !sink.lifetime.isClosed { self.start(sink) }
    }
  }
}
