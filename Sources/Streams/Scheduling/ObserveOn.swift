public import SystemBase

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

/// How many elements an operator delivers before it gives other work on its queue a turn.
let elementsPerTurn = 256

/// The queue between a source and a scheduler.
@usableFromInline
final class Relay<Element: Sendable>: Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var waiting: ContiguousArray<Element> = []
    @usableFromInline var end: (any Error)??
    @usableFromInline var isScheduled = false
    @inlinable init() {}
  }

  @usableFromInline let sink: Sink<Element>
  @usableFromInline let scheduler: any Scheduler
  @usableFromInline let state = Locked(State())
  /// Elements taken off `waiting`, and how many of them have been passed on; touched only inside `turns`.
  @usableFromInline let batch = Cell((elements: ContiguousArray<Element>(), position: 0))
  /// Keeps turns from nesting: a scheduler that runs work at once would begin the next turn inside the one before.
  @usableFromInline let turns: Serializer
  @usableFromInline let job: Slot

  @inlinable init(_ sink: Sink<Element>, _ scheduler: any Scheduler) {
    self.sink = sink
    self.scheduler = scheduler
    turns = sink.serializer()
    job = sink.slot()
  }

  @inlinable func next(_ element: Element) {
    let isFirst = state.withLock { state in
      state.waiting.append(element)
      return exchange(&state.isScheduled, with: true) == false
    }
    if isFirst { schedule() }
  }

  @inlinable func end(_ error: (any Error)?) {
    let isFirst = state.withLock { state in
      state.end = .some(error)
      return exchange(&state.isScheduled, with: true) == false
    }
    if isFirst { schedule() }
  }

  @usableFromInline func schedule() {
    job.set(scheduler.schedule { self.turns.send(()) { self.turn() } })
  }

  @usableFromInline func turn() {
    for _ in 0..<elementsPerTurn {
      if sink.lifetime.isClosed { return }
      if batch.value.position == batch.value.elements.count {
        let used = exchange(&batch.value, with: ([], 0)).elements
        let (elements, end) = state.withLock { state -> (ContiguousArray<Element>, (any Error)??) in
          if !state.waiting.isEmpty { return (exchange(&state.waiting, with: []), nil) }
          state.isScheduled = state.end != nil
          return ([], state.end)
        }
        withExtendedLifetime(used) {}
        if let end { return sink.endIfOpen(end) }
        if elements.isEmpty { return }
        batch.value = (elements, 0)
      }
      let element = batch.value.elements[batch.value.position]
      batch.value.position += 1
      sink.next(element)
    }
    schedule()
  }
}
