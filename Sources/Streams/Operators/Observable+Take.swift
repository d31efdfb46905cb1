extension Observable {
  /// The first `count` elements; then it completes, and cancels the source. None if `count` is 0 or less, and then the
  /// source is not subscribed to.
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
  /// The elements until `trigger` sends one; then it completes, and cancels the source.
  ///
  ///     source           ──1──2──3──4──|
  ///     trigger          ───────a──
  ///     take(until:)     ──1──2─|
  ///
  /// An error of `trigger` is the stream's; its completion does nothing.
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
