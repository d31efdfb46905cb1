import HTTP
public import Networking
public import Streams

/// Values that a server pushes.
extension Store {
  /// Writes what a server has pushed into the cached value of a key, as ``update(_:_:)`` does: watchers see it at once,
  /// below what waits in an outbox and other optimistic changes. `change` returns the changed value, or `nil` if that is
  /// the same; it may be called more than once.
  ///
  /// The response to a request that began earlier may lack what was pushed, and does not undo it: the request is made
  /// again for those who watch. So does one that comes while there is no value yet.
  public func receive(_ key: Key, _ change: (Value) throws -> Value?) rethrows {
    try rebase(key) {
      try change($0.value)
    } commit: { state, changed, version in
      guard let changed else {
        state.doubtResponses(of: key)
        return true
      }
      return state.save(changed: changed, for: key, version: version)
    }
  }

  /// Keeps the value of a key up to date by a live stream: the stream itself, whose values are written on their way, as
  /// by ``receive(_:_:)``, before observers get them.
  ///
  ///     users.follow("7", UserChanged(id: "7").subscribe(on: client)) { event, user in event.applied(to: user) }
  ///       .subscribe(onNext: { event in … })
  ///
  /// What happened before the stream was connected, between two connections, or was dropped because the observer was
  /// slow, and what the server could not make, is missing in the value. So it is invalidated then, and requested again
  /// for those who watch it, see ``invalidate(_:)``; if that request fails in an outage, it is made again after a pause
  /// of up to a minute.
  public func follow<Live>(
    _ key: Key, _ events: Observable<LiveEvent<Live>>, scheduler: some Scheduler = ConcurrentScheduler(),
    change: @escaping @Sendable (Live, Value) throws -> Value?
  ) -> Observable<LiveEvent<Live>> {
    .deferred {
      let repairs = DisposeBag()
      self.repairs(of: key, scheduler).subscribe().disposed(by: repairs)
      return events.map { event in
        switch event {
        case .value(let live): try self.receive(key) { try change(live, $0) }
        case .connected, .reconnected, .dropped, .failed: self.invalidate(key)
        case .disconnected, .resumed: break
        }
        return event
      }
      .do(onDispose: { repairs.dispose() })
    }
  }

  /// Asks again while the latest request has failed in an outage. Emits nothing, and does not end.
  private func repairs(of key: Key, _ scheduler: some Scheduler) -> Observable<Never> {
    let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
    let failures = Locked(0)
    return stream(key, .cacheOnly)
      .map { snapshot -> Bool? in
        if snapshot.isFetching { return nil }
        return snapshot.errors.first.map { RequestError(wrapping: $0).isOutage } ?? false
      }
      .distinctUntilChanged()
      .flatMapLatest { isOutage -> Observable<Never> in
        guard isOutage == true else {
          if isOutage == false { failures.withLock { $0 = 0 } }
          return .never()
        }
        let count = failures.withLock { failures in
          failures += 1
          return failures
        }
        return Observable<Void>.just(()).delay(backoff.delay(after: count), scheduler: scheduler).compactMap { _ in
          self.invalidate(key)
          return nil
        }
      }
  }
}
