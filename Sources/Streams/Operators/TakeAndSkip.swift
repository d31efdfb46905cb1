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
  /// The first element. Then it completes, and cancels the source. Fails with `error` if there is none.
  ///
  ///     source           ──1──2──       ──|
  ///     first(orFail:)   ──1|           ──x
  @inlinable
  package func first(
    orFail error: @escaping @autoclosure @Sendable () -> any Error
  ) -> Observable<Element> {
    Observable { sink in
      self.start(
        Sink(
          next: { element in
            sink.next(element)
            sink.endIfOpen()
          }, end: { sink.end($0 ?? error()) }, lifetime: sink.lifetime))
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

extension Observable {
  /// The only element, once the source has completed. Fails with ``StreamError/noElements`` if there is none, and with
  /// ``StreamError/moreThanOneElement`` if there is a second one.
  ///
  ///     source      ──1─────|         ──1──2
  ///     asSingle()  ────────1|        ─────x
  @inlinable
  public func asSingle() -> Observable<Element> {
    Observable { sink in
      let only = Cell<Element?>(nil)
      self.start(
        Sink(
          next: { element in
            if only.value == nil { only.value = element } else { sink.end(StreamError.moreThanOneElement) }
          },
          end: { error in
            if let error { return sink.end(error) }
            guard let element = only.value else { return sink.end(StreamError.noElements) }
            sink.next(element)
            sink.endIfOpen()
          }, lifetime: sink.lifetime))
    }
  }
}
