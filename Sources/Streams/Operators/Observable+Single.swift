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
