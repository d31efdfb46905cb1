import SystemBase

extension Observable {
  /// Delays the elements and the completion by `dueTime`. An error comes at once, and drops the waiting elements.
  /// Waiting elements are kept without a bound. At most 256 are delivered in one turn.
  ///
  ///     source              ──1──2──3──|
  ///     delay(…)            ────────1──2──3──|
  public func delay(_ dueTime: Duration, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      let timer = Timer(sink.lifetime, scheduler)
      let waiting = Cell(Fifo<(due: Duration, element: Element?)>())
      timer.action = {
        for _ in 0..<elementsPerTurn {
          guard let first = waiting.value.first, first.due <= scheduler.now, !sink.lifetime.isClosed else { break }
          _ = waiting.value.popFirst()
          if let element = first.element { sink.next(element) } else { sink.endIfOpen() }
        }
        if let first = waiting.value.first { timer.fire(at: first.due) }
      }
      timer.attach()
      let wait: @Sendable (Element?) -> Void = { element in
        let due = scheduler.time(after: dueTime)
        waiting.value.append((due, element))
        timer.fire(at: due)
      }
      self.start(sink, timer, next: { wait($0) }) { error in
        if let error { sink.end(error) } else { wait(nil) }
      }
    }
  }

  /// Each element that is followed by `dueTime` without another. Completion sends a waiting element first; an error
  /// drops it.
  ///
  ///     source           ──1─2─3────────4─|
  ///     debounce(…)      ───────────3────4|
  public func debounce(_ dueTime: Duration, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      let timer = Timer(sink.lifetime, scheduler)
      let latest = Cell<(due: Duration, element: Element)?>(nil)
      timer.action = {
        guard let (due, element) = latest.value else { return }
        if due > scheduler.now { return timer.fire(at: due) }
        latest.value = nil
        sink.next(element)
      }
      timer.attach()
      self.start(
        sink, timer,
        next: { element in
          let due = scheduler.time(after: dueTime)
          latest.value = (due, element)
          timer.fire(at: due)
        },
        end: { error in
          if error == nil, let element = latest.value?.element { sink.next(element) }
          sink.endIfOpen(error)
        })
    }
  }

  /// The first element of each window of `dueTime` and, if `latest` is true, its last one when the window ends, unless
  /// the next element has come by then.
  ///
  ///     source           ──1─2─3────────4──|
  ///     throttle(…)      ──1──────3─────4──|
  ///
  /// Completion comes after an element that waits; an error drops it.
  public func throttle(_ dueTime: Duration, latest: Bool = true, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      let timer = Timer(sink.lifetime, scheduler)
      let state = Cell((opens: Duration?.none, waiting: Element?.none, isEnded: false))
      let send: @Sendable (Element) -> Void = { element in
        state.value.opens = scheduler.time(after: dueTime)
        sink.next(element)
      }
      timer.action = {
        if let opens = state.value.opens, opens > scheduler.now { return timer.fire(at: opens) }
        if let element = state.value.waiting.take() { send(element) }
        if state.value.isEnded { sink.endIfOpen() }
      }
      timer.attach()
      self.start(
        sink, timer,
        next: { element in
          if let opens = state.value.opens, scheduler.now < opens {
            if latest {
              state.value.waiting = element
              timer.fire(at: opens)
            }
          } else {
            state.value.waiting = nil
            send(element)
          }
        },
        end: { error in
          state.value.isEnded = true
          if error != nil || state.value.waiting == nil { sink.end(error) }
        })
    }
  }

  /// Fails with ``StreamError/timeout`` if no element comes within `dueTime`; the source is then cancelled. The time
  /// restarts once an element has been handled.
  ///
  ///     source         ──1──2──────────3──|
  ///     timeout(…)     ──1──2─────x
  public func timeout(_ dueTime: Duration, scheduler: some Scheduler) -> Observable<Element> {
    Observable { sink in
      let timer = Timer(sink.lifetime, scheduler)
      let first = scheduler.time(after: dueTime)
      let due = Cell(first)
      timer.action = {
        if due.value > scheduler.now { timer.fire(at: due.value) } else { sink.end(StreamError.timeout) }
      }
      timer.attach()
      timer.fire(at: first)
      self.start(
        sink, timer,
        next: { element in
          sink.next(element)
          due.value = scheduler.time(after: dueTime)
        }, end: sink.end)
    }
  }

  /// Fails with the result of `error` if the stream has not ended within `dueTime`; the source is then cancelled. After
  /// an element for which `isEnough` is true, it may take as long as it likes.
  ///
  ///     source         ──1──2──────────3──|
  ///     deadline(…)    ──1──2─────x
  @inlinable
  package func deadline(
    _ dueTime: Duration, scheduler: any Scheduler,
    unless isEnough: @escaping @Sendable (Element) -> Bool = { _ in false }, error: @escaping @Sendable () -> any Error
  ) -> Observable<Element> {
    Observable { sink in
      let deadline = Deadline(sink, unless: isEnough, error: error)
      sink.lifetime.insert(scheduler.schedule(after: dueTime) { deadline.pass() })
      self.start(sink.segment(), next: { deadline.next($0) }, end: { deadline.end($0) })
    }
  }

  /// Starts this stream above `sink`; its events and the timer's come one at a time.
  private func start<Result: Sendable>(
    _ sink: Sink<Result>, _ timer: Timer,
    next: @escaping @Sendable (Element) -> Void,
    end: @escaping @Sendable ((any Error)?) -> Void
  ) {
    start(sink.segment(), next: timer.serializing(next), end: timer.serializing(end))
  }
}

/// One subscription to `deadline`: a closure that captures one object needs no memory of its own.
///
/// `@unchecked Sendable`, and without exclusivity checks: `isLifted` is touched only inside the serializer.
@usableFromInline
final class Deadline<Element: Sendable>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var isLifted = false
  @usableFromInline let serializer: Serializer
  @usableFromInline let sink: Sink<Element>
  @usableFromInline let isEnough: @Sendable (Element) -> Bool
  @usableFromInline let error: @Sendable () -> any Error

  @inlinable init(
    _ sink: Sink<Element>, unless isEnough: @escaping @Sendable (Element) -> Bool,
    error: @escaping @Sendable () -> any Error
  ) {
    serializer = sink.serializer()
    self.sink = sink
    self.isEnough = isEnough
    self.error = error
  }

  @inlinable func pass() {
    serializer.send(()) { if !self.isLifted { self.sink.end(self.error()) } }
  }

  @inlinable func next(_ element: Element) {
    serializer.send(element) { element in
      if self.isEnough(element) { self.isLifted = true }
      self.sink.next(element)
    }
  }

  @inlinable func end(_ error: (any Error)?) {
    serializer.send(error) { self.sink.end($0) }
  }
}
