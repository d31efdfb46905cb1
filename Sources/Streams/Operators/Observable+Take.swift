extension Observable {
  /// The first `count` elements. Then it completes, and cancels the source. If `count` is 0 or less, there are none,
  /// and the source is not subscribed to.
  ///
  ///     source    ──1──2──3──4──|
  ///     take(2)   ──1──2|
  @inlinable
  public func take(_ count: Int) -> Observable<Element> {
    if count <= 0 { return .empty() }
    return Observable { sink in
      let remaining = Cell(count)
      self.start(
        Sink(
          next: { element in
            remaining.value -= 1
            let isLast = remaining.value == 0
            sink.next(element)
            if isLast { sink.endIfOpen() }
          }, end: sink.end, lifetime: sink.lifetime))
    }
  }
}

extension Observable {
  /// The elements until `trigger` sends one. Then it completes, and cancels the source.
  ///
  ///     source           ──1──2──3──4──|
  ///     trigger          ───────a──
  ///     take(until:)     ──1──2─|
  ///
  /// If `trigger` fails, the stream fails with that error; completion of `trigger` has no effect.
  @inlinable
  public func take<Trigger: Sendable>(until trigger: Observable<Trigger>) -> Observable<Element> {
    Observable { sink in
      let sink = sink.serialized()
      trigger.start(
        sink.segment(), next: { _ in sink.end(nil) },
        end: { error in
          if let error { sink.end(error) }
        })
      self.start(sink.segment(), next: sink.next, end: sink.end)
    }
  }
}
