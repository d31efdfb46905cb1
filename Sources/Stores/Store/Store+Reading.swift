public import Streams
public import SystemBase

extension Store {
  /// A live stream of a key: a snapshot at once, then one for each change. It never fails, and completes when the store
  /// is closed or its account signed out; failures are in the snapshots.
  ///
  /// Changes that come while the subscriber still handles a snapshot are not queued: it then gets one snapshot of the
  /// latest state, and none of the states between, such as a value that was replaced, a failure after which a request
  /// succeeded, or an optimistic change that has ended. Snapshots keep the order of the writes, and no subscriber waits
  /// for another.
  ///
  /// With `networkFirst`, `networkOnly` and `noCache`, snapshots have no value until a response arrives or a value is
  /// saved. With `networkFirst`, they have the cached value once the request has failed.
  public func stream(
    _ key: Key, _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext()
  ) -> Observable<Snapshot<Value>> {
    .create { observer in
      self.acquire(key, for: policy) { state, source, now in
        state.watch(key, policy: policy, context: context, source: source, observer: observer, now: now)
      } end: { state, id in
        state.unwatch(key, id: id)
      }
    }
  }

  /// A live stream of a key's values only: the cached one, with pending changes applied, then each new one. It makes
  /// no request, never fails, and completes as ``stream(_:_:context:)`` does.
  public func values(_ key: Key) -> Observable<Value> {
    stream(key, .cacheOnly)
      .filter { $0.stamp != SnapshotStamp() }
      .distinctUntilChanged { $0.stamp == $1.stamp }
      .compactMap(\.value)
  }

  /// A cold stream of one snapshot. If the request fails, policies that read the cache return the cached value instead,
  /// up to the age ``Freshness/staleIfError``, with the failure among the snapshot's errors. Without such a value, the
  /// stream fails.
  ///
  /// With `cacheFirst`, a stale value counts as missing; with `staleWhileRevalidate`, it is returned, and the store
  /// requests a new one, whether this stream is disposed or not; with `cacheAndNetwork`, the snapshot is the network's;
  /// with `cacheOnly`, the stream fails with ``StoreError/notCached`` if nothing is cached.
  ///
  /// A request for the key that is in progress is joined, not repeated, if the contexts have the same identity: its
  /// response may be older than a write, or an `invalidate(_:)`, that came after it began. For some time after a
  /// failure, policies that read the cache make no request: see ``StoreConfiguration/backoff``.
  @inlinable
  public func get(
    _ key: Key, _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext()
  ) -> Observable<Snapshot<Value>> {
    .deferred {
      if policy.cacheRead != .beforeNetworkFetch { return self.read(key, policy, context) }
      let now = self.clock.now
      guard let (state, isStale) = self.state.withLock({ $0.recall(key, policy: policy, now: now) }) else {
        return self.read(key, policy, context)
      }
      return .just(state.snapshot(state.rendered(), isStale: isStale, now: now))
    }
  }

  /// The result of a read that needs more than the memory.
  @usableFromInline
  func read(_ key: Key, _ policy: FetchPolicy, _ context: ReadContext) -> Observable<Snapshot<Value>> {
    .create { observer in
      let (clock, freshness) = (self.clock, self.freshness)
      let waiter = Fetch<Key, Value>.Waiter(policy: policy) { result in
        switch result {
        case .success(let state):
          let now = clock.now
          let snapshot = state.snapshot(state.rendered(), isStale: state.isStale(by: freshness, now: now), now: now)
          if snapshot.value == nil { return observer.onError(snapshot.missingValueError) }
          observer.onNext(snapshot)
          observer.onCompleted()
        case .failure(let error): observer.onError(error)
        }
      }
      return self.acquire(key, for: policy) { state, source, now in
        state.read(key, source: source, waiter: waiter, context: context, now: now)
      } end: { state, id in
        state.endRead(key, id: id)
      }
    }
  }

  /// Acquires a key and begins to read it: under one lock, unless its value has to be loaded first. Returns what ends
  /// the read.
  private func acquire(
    _ key: Key, for policy: FetchPolicy,
    _ read: @escaping @Sendable (inout StoreState<Key, Value>, SnapshotSource, _ now: StoreTime) -> UInt64,
    end: @escaping @Sendable (inout StoreState<Key, Value>, _ id: UInt64) -> Void
  ) -> any Disposable {
    let now = clock.now
    let id = performRead(id: { $0 }) { state -> UInt64? in
      state.acquire(key, forReading: true)
      let readsFirst = policy.cacheRead == .beforeNetworkFetch || state.isSuspended(key, for: policy, now: now)
      if readsFirst, !state.isLoaded(key) { return nil }
      return read(&state, .memory, now)
    }
    let ending: @Sendable (UInt64) -> any Disposable = { id in
      Disposables.create { self.performRead(id: { _ in nil }) { end(&$0, id) } }
    }
    if let id { return ending(id) }
    let reading = DisposeBag()
    load(key) { source in
      if reading.isDisposed { return self.perform { $0.release(key) } }
      let id = self.performRead(id: { $0 }) { read(&$0, source ?? .memory, self.clock.now) }
      reading.insert(ending(id))
    }
    return reading
  }

  /// A cold stream of one value: the cached one if it is fresh, else the network's. Short for ``get(_:_:context:)``
  /// with
  /// `cacheFirst`.
  @inlinable
  public func cached(_ key: Key, context: ReadContext = ReadContext()) -> Observable<Value> {
    // `get` fails if there is no value.
    get(key, .cacheFirst, context: context).compactMap(\.value)
  }

  /// A cold stream of one complete value from the network. Short for ``get(_:_:context:)`` with `networkOnly`, so it
  /// joins a request that is in progress, and makes one even shortly after a failure; a partial response fails with its
  /// errors.
  public func fresh(_ key: Key, context: ReadContext = ReadContext()) -> Observable<Value> {
    get(key, .networkOnly, context: context).compactMap { snapshot in
      if let error = snapshot.errors.first { throw error }
      return snapshot.value
    }
  }

  /// What memory has for a key; `nil` if nothing. Makes no request, and does not count as a read.
  @inlinable
  public func peek(_ key: Key) -> Snapshot<Value>? {
    let now = clock.now
    let state = state.withLock { $0.recalled(key, now: now) }
    return state.map { $0.snapshot($0.rendered(), isStale: $0.isStale(by: freshness, now: now), now: now) }
  }
}
