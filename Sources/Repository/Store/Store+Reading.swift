public import Streams

extension Store {
  /// The live stream of a key: a snapshot at once, then one for each change. It never fails, and does not end by
  /// itself; what goes wrong stands in the snapshots.
  ///
  /// Until the network has answered, or a value was saved, `networkFirst`, `networkOnly` and `noCache` give a snapshot
  /// without a value.
  public func stream(_ key: Key, _ policy: FetchPolicy = .cacheFirst) -> Observable<Snapshot<Value>> {
    .create { observer in
      self.perform { $0.acquire(key, forReading: true) }
      let source = policy.cacheRead == .beforeNetworkFetch ? self.load(key) : .memory
      let now = self.clock.now
      let id = self.perform { $0.watch(key, policy: policy, source: source, observer: observer, now: now) }
      return Disposables.create { self.perform { $0.unwatch(key, id: id) } }
    }
  }

  /// The live stream of a key's values alone: what is kept, changes under way over it, then each new one. It asks no
  /// server, never fails, and does not end by itself.
  public func values(_ key: Key) -> Observable<Value> {
    stream(key, .cacheOnly)
      .filter { $0.stamp != SnapshotStamp() }
      .distinctUntilChanged { $0.stamp == $1.stamp }
      .compactMap(\.value)
  }

  /// A cold stream of one snapshot. It fails if the request fails and no kept value may stand in. A kept value may,
  /// under the policies that read the cache, up to the age ``Freshness/staleIfError``; the failure is then among the
  /// snapshot's errors.
  ///
  /// With `cacheFirst`, a stale value counts as missing; with `cacheAndNetwork`, the snapshot is the network's; with
  /// `cacheOnly`, it fails with ``StoreError/notCached`` if nothing is kept. A request for the key that is under way is
  /// joined, not made anew: its answer may be older than a write, or an ``invalidate(_:)``, that came after it began.
  @inlinable
  public func get(_ key: Key, _ policy: FetchPolicy = .cacheFirst) -> Observable<Snapshot<Value>> {
    .deferred {
      let now = self.clock.now
      guard let state = self.state.withLock({ $0.recall(key, policy: policy, now: now) }) else {
        return self.answer(to: key, policy)
      }
      return .just(state.snapshot(state.rendered(), freshness: self.freshness, now: now))
    }
  }

  /// The answer to a read that takes more than a look into memory.
  @usableFromInline
  func answer(to key: Key, _ policy: FetchPolicy) -> Observable<Snapshot<Value>> {
    .create { observer in
      let (clock, freshness) = (self.clock, self.freshness)
      let answer: @Sendable (Result<KeyState<Key, Value>, any Error>) -> Void = { result in
        do {
          let state = try result.get()
          let snapshot = state.snapshot(state.rendered(), freshness: freshness, now: clock.now)
          _ = try snapshot.requireValue()
          observer.onNext(snapshot)
          observer.onCompleted()
        } catch {
          observer.onError(error)
        }
      }
      self.perform { $0.acquire(key, forReading: true) }
      let source = policy.cacheRead == .beforeNetworkFetch ? self.load(key) : .memory
      let waiter = Fetch<Key, Value>.Waiter(policy: policy, answer: answer)
      let now = clock.now
      let id = self.perform { $0.read(key, source: source, waiter: waiter, now: now) }
      return Disposables.create { self.perform { $0.endRead(key, id: id) } }
    }
  }

  /// One value: what is kept and fresh, else the network's. Short for ``get(_:_:)`` by `cacheFirst`.
  @inlinable
  public func cached(_ key: Key) -> Observable<Value> { get(key, .cacheFirst).map { try $0.requireValue() } }

  /// One complete value, the network's. Short for ``get(_:_:)`` by `networkOnly`, so it joins a request that is under
  /// way; a partial answer fails with its errors.
  public func fresh(_ key: Key) -> Observable<Value> {
    get(key, .networkOnly).map { snapshot in
      if let error = snapshot.errors.first { throw error }
      return try snapshot.requireValue()
    }
  }

  /// What memory has for a key, without asking anybody, or counting as a read; `nil` where there is nothing.
  @inlinable
  public func peek(_ key: Key) -> Snapshot<Value>? {
    let now = clock.now
    let state = state.withLock { $0.recalled(key, now: now) }
    return state.map { $0.snapshot($0.rendered(), freshness: freshness, now: now) }
  }
}
