extension Observable {
  /// Subscribes to the source on `scheduler`; the events come on the source's threads.
  ///
  ///     source           ──1──2──|
  ///     subscribe(on:)   ─────1──2──|     the source starts when the scheduler gets to it
  @inlinable
  public func subscribe(on scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      sink.lifetime.insert(
        scheduler.schedule {
          if !sink.lifetime.isClosed { self.start(sink) }
        })
    }
  }

  /// Delivers the events on `scheduler`, in order and one at a time.
  ///
  ///     source        ──1──2──3──|          on the source's threads
  ///     observe(on:)  ────1──2──3──|        on the scheduler
  ///
  /// Waiting events are kept without a bound; `dispose()` drops them. At most 256 are delivered in one turn, so that a
  /// busy stream shares its queue. An error comes after the elements before it, as in RxSwift.
  @inlinable
  public func observe(on scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      let relay = Relay(sink, scheduler)
      self.start(sink.segment(), next: { relay.next($0) }, end: { relay.end($0) })
    }
  }
}
