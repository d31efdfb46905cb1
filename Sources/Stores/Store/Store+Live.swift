public import GraphQLClient
import HTTPClientCore
public import Streams
import SystemBase

/// Values that a server pushes.
extension Store {
  /// Writes what a server has pushed into the cached value of a key, as `update(_:_:)` does: watchers see it at once,
  /// below what waits in an outbox and other optimistic changes. `change` returns the changed value, or `nil` if that
  /// is the same; it may be called more than once.
  ///
  /// The response to a request that began earlier may lack what was pushed: `change` is made to it, too, so it should
  /// set what changes, not count or append. The value is requested once more for those who watch, after a pause of a
  /// second, or up to 30 as long as pushes overtake each response.
  ///
  /// In a task, this returns when the value is in the source of truth, unless ``StoreConfiguration/writing`` is
  /// `behind`; no thread waits for it.
  public func receive(_ key: Key, _ change: @escaping @Sendable (Value) throws -> Value?) async rethrows {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    await loaded(key)
    try await written { steps, written in try self.receive(key, change, in: steps, written) }
  }

  /// Writes what a server has pushed, as in a task, for a caller on a thread; it is in memory when this returns.
  public func receive(_ key: Key, _ change: @escaping @Sendable (Value) throws -> Value?) rethrows {
    try receive(key, change) { _ in }
  }

  private func receive(
    _ key: Key, _ change: @escaping @Sendable (Value) throws -> Value?, in steps: Steps<Key, Value>? = nil,
    _ completion: @escaping WriteCompletion
  ) rethrows {
    let push: @Sendable (Value) -> Value? = { value in try? change(value) }
    let writes = WriteGroup(then: completion)
    defer { writes.close() }
    let written = writes.add()
    try rebase(key, writes, in: steps) {
      try change($0.value)
    } commit: { state, changed, version in
      if let changed {
        return state.save(
          changed: changed, for: key, version: version, push: push, isAsynchronous: true, completion: written)
      }
      // It may concern the value that is on its way.
      state.notePush(to: key)
      if !state.keep(push, for: key) { state.markResponsesOutdated(of: key) }
      state.effects.append(.complete(written, nil))
      return true
    }
  }

  /// Writes what a server has pushed, behind what was pushed before, and after loading the value if only an asynchronous
  /// source of truth has it. Then an error of the change, which comes too late for the stream, invalidates the value.
  private func receive(
    _ push: Push<Value>, of key: Key, behind earlier: Locked<PushesOnLoad<Value>>, in steps: Steps<Key, Value>
  ) throws {
    let isLoaded = perform { state in
      state.acquire(key)
      return state.isLoaded(key)
    }
    switch earlier.withLock({ $0.turn(of: push, isLoaded: storage.shared == nil || isLoaded) }) {
    case .now:
      defer { perform { $0.release(key) } }
      try receive(key, push.change, in: steps, push.written)
    case .afterLoad: load(key) { _ in self.receiveAll(earlier, of: key) }
    case .afterOthers: break
    }
  }

  private func receiveAll(_ pushes: Locked<PushesOnLoad<Value>>, of key: Key) {
    // All are written before a watcher is notified, which may stall.
    let steps = Steps<Key, Value>()
    while let push = pushes.withLock({ $0.next() }) {
      do { try receive(key, push.change, in: steps, push.written) } catch {
        perform(in: steps) { $0.invalidate(key, completion: push.written) }
      }
      perform(in: steps) { $0.release(key) }
    }
    endElsewhere(steps)
  }

  /// Keeps the value of a key up to date by a live stream: the stream itself, whose values are written on their way, as
  /// by `receive(_:_:)`, before observers get them.
  ///
  ///     users.follow("7", UserChanged(id: "7").subscribe(on: client)) { event, user in event.applied(to: user) }
  ///       .subscribe(onNext: { event in … })
  ///
  /// Watchers are called on another thread: one that stalls does not keep what is pushed next from others. The observer
  /// is called where a write ends. If that is not the thread of the events, they are written while it is slow; it then gets
  /// the latest 1,024, and `dropped` before them.
  ///
  /// What happened before the stream was connected, between two connections, or was dropped because the observer was
  /// slow, and what the server could not make, is missing in the value. So it is invalidated then, and requested again
  /// for those who watch it, see `invalidate(_:)`; if that request fails in an outage, it is made again after a pause
  /// of up to a minute.
  public func follow<Live>(
    _ key: Key, _ events: Observable<LiveEvent<Live>>, scheduler: some Scheduler = ConcurrentScheduler(),
    change: @escaping @Sendable (Live, Value) throws -> Value?
  ) -> Observable<LiveEvent<Live>> {
    .deferred {
      let repairs = DisposeBag()
      self.repairs(of: key, scheduler).subscribe().disposed(by: repairs)
      let pushes = Locked(PushesOnLoad<Value>())
      return events.inOrder { event, written in
        let steps = Steps<Key, Value>()
        defer { self.endElsewhere(steps) }
        switch event {
        case .value(let live):
          let push = Push<Value>(change: { try change(live, $0) }, written: written)
          try self.receive(push, of: key, behind: pushes, in: steps)
        case .connected, .reconnected, .dropped, .failed:
          self.perform(in: steps) { $0.invalidate(key, completion: written) }
        case .disconnected, .resumed: written(nil)
        }
      }
      .do(onDispose: { repairs.dispose() })
    }
  }

  /// Asks again while the latest request has failed in an outage. Emits nothing, and does not end.
  private func repairs(of key: Key, _ scheduler: some Scheduler) -> Observable<Never> {
    let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
    let failures = Locked(0)
    return stream(key, .cacheOnly)
      .scan(LatestRequest.hasEnded) { $0.next($1) }
      .distinctUntilChanged()
      .flatMapLatest { request -> Observable<Never> in
        guard case .hasFailed(let pause) = request else {
          if request == .hasEnded { failures.withLock { $0 = 0 } }
          return .never()
        }
        let count = failures.withLock { failures in
          failures += 1
          return failures
        }
        let delay = max(backoff.delay(after: count), pause)
        return Observable<Void>.just(()).delay(delay, scheduler: scheduler).compactMap { _ in
          self.invalidate(key)
          return nil
        }
      }
  }
}

/// What became of the latest request of a key.
private enum LatestRequest: Equatable {
  case isOnItsWay
  case hasEnded
  /// In an outage; the server may have asked for a pause.
  case hasFailed(pause: Duration)

  /// What the next snapshot says.
  func next<Value>(_ snapshot: Snapshot<Value>) -> LatestRequest {
    if snapshot.isFetching { return .isOnItsWay }
    if let error = snapshot.errors.first.map({ RequestError(wrapping: $0) }), error.isOutage {
      return .hasFailed(pause: error.pause)
    }
    // What is pushed or changed locally is no answer: what was missed still is. The errors of a partial value are its own.
    if case .hasFailed = self, snapshot.isStale, snapshot.errors.isEmpty || snapshot.isPartial { return self }
    return .hasEnded
  }
}

/// A change that a server has pushed, and what to call once it is written.
private struct Push<Value>: Sendable {
  let change: @Sendable (Value) throws -> Value?
  let written: WriteCompletion
}

/// What is pushed while the value is being loaded, in its order.
private struct PushesOnLoad<Value>: Sendable {
  enum Turn { case now, afterLoad, afterOthers }

  private var waiting = Fifo<Push<Value>>()
  /// Whether some wait, or are being written.
  private var areWaiting = false

  /// When it is the turn of a push, which is kept unless that is now.
  mutating func turn(of push: Push<Value>, isLoaded: Bool) -> Turn {
    if isLoaded, !areWaiting { return .now }
    waiting.append(push)
    return exchange(&areWaiting, with: true) ? .afterOthers : .afterLoad
  }

  /// Takes out the next one; without one, those that come find nothing before them.
  mutating func next() -> Push<Value>? {
    let push = waiting.popFirst()
    if push == nil { areWaiting = false }
    return push
  }
}

extension Observable {
  /// The events, each once its work is done, in their order. The work is begun at once, so that the works of several
  /// events may become one, and for all: of those that the observer has not taken, the latest are kept.
  fileprivate func inOrder<Live>(
    _ work: @escaping @Sendable (Element, _ completion: @escaping WriteCompletion) throws -> Void
  ) -> Observable where Element == LiveEvent<Live> {
    .create { observer in
      let waiting = Mailbox(InOrder<Live>())
      let send: @Sendable (Int, Event<Element>) -> Void = { number, event in
        waiting.post { $0.end(of: number, event) }
        // The observer gets one at a time, whichever thread sends it.
        while waiting.deliver({ $0.next() }, to: observer.on) {}
      }
      let elements = AnyObserver<Element> { event in
        guard let number = waiting.post({ $0.begin() }) else { return }
        guard case .next(let element) = event else { return send(number, event) }
        do {
          try work(element) { _ in send(number, event) }
        } catch {
          // It ends the stream in its turn, and nothing that comes until then is begun.
          waiting.post { $0.hasFailed = true }
          send(number, .error(error))
        }
      }
      return self.subscribe(elements)
    }
  }
}

/// The events of a stream that wait for the work of those before, and then for the observer.
private struct InOrder<Live: Sendable>: Sendable {
  typealias Element = LiveEvent<Live>

  /// Whether the work of one could not be begun.
  var hasFailed = false
  private var (begunCount, endedCount) = (0, 0)
  /// Those whose work is done, by their numbers, while that of an earlier one is not.
  private var ended: [Int: Event<Element>] = [:]
  private var backlog = LiveBacklog<Live>(.dropOldest(values: 1_024, bytes: .max))
  private var end: Event<Element>?

  /// The number of an event, if it is still wanted.
  mutating func begin() -> Int? {
    if hasFailed { return nil }
    defer { begunCount += 1 }
    return begunCount
  }

  /// Takes notice that the work of an event is done.
  mutating func end(of number: Int, _ event: Event<Element>) {
    ended[number] = event
    while let event = ended.removeValue(forKey: endedCount) {
      endedCount += 1
      if case .next(let element) = event { backlog.append(element, size: 0) } else { end = event }
    }
  }

  /// Takes out the event whose turn it is, if its work is done.
  mutating func next() -> Event<Element>? { backlog.popFirst().map { .next($0) } ?? end.take() }
}
