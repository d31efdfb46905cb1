import Streams

extension StoreState {
  /// What memory has for a key, unless it has expired; `nil` if nothing.
  @inlinable
  func recalled(_ key: Key, now: StoreTime) -> KeyState<Key, Value>? {
    let entry = entries[key]
    guard let cached = entry?.cached ?? memory.peek(key), !freshness.isExpired(cached, now: now), !isHidden(cached)
    else { return nil }
    return KeyState(key: key, cached: cached, layers: layers.concerning(key), source: .memory, entry: entry)
  }

  /// The same as the result of a read; `nil` if the read needs more than that, or the value has to be put back into
  /// memory.
  @inlinable
  mutating func recall(_ key: Key, policy: FetchPolicy, now: StoreTime) -> KeyState<Key, Value>? {
    guard !isSignedOut, policy.cacheRead == .beforeNetworkFetch, let state = recalled(key, now: now),
      !needsNetwork(policy, cached: state.cached, now: now), memory.use(key)
    else { return nil }
    noteRead(key, now: now)
    return state
  }

  /// Adds a watcher to a key that was acquired; returns the watcher's id.
  mutating func watch(
    _ key: Key, policy: FetchPolicy, source: SnapshotSource, observer: AnyObserver<Snapshot<Value>>, now: StoreTime
  ) -> UInt64 {
    let id = nextNumber()
    let cached = current(key, now: now)
    if needsNetwork(policy, cached: cached, now: now) {
      claim(key, id: id, cachesResponse: policy.cachesResponse)
    }
    let state = keyState(key, source: source)
    let watcher = Watcher<Key, Value>(id: id, policy: policy, version: state.version, observer: observer)
    entries[key]?.watchers.append(watcher)
    garbage.append(watcher.post(Publication(state), uncached: nil) as Any)
    // Before the request that was just begun: the watcher sees that it is in flight.
    effects.insert(.deliver([watcher]), at: 0)
    return id
  }

  mutating func unwatch(_ key: Key, id: UInt64) {
    guard let entry = entries[key] else { return }
    let place = entry.watchers.partitioningIndex { $0.id >= id }
    if place < entry.watchers.count, entry.watchers[place].id == id {
      garbage.append(entry.watchers.remove(at: place))
    }
    unclaim(key, id: id)
    release(key)
  }

  /// Answers a read of a key that was acquired, now or when its request ends. Returns the read's id.
  mutating func read(
    _ key: Key, source: SnapshotSource, waiter: Fetch<Key, Value>.Waiter, now: StoreTime
  ) -> UInt64 {
    let id = nextNumber()
    let policy = waiter.policy
    if isSignedOut {
      effects.append(.call { waiter.completion(.failure(StoreError.signedOut)) })
      return id
    }
    let cached = policy.cacheRead == .beforeNetworkFetch ? current(key, now: now) : nil
    if needsNetwork(policy, cached: cached, now: now) {
      claim(key, id: id, cachesResponse: policy.cachesResponse, waiter: waiter)
    } else {
      let state = keyState(key, source: source)
      effects.append(.call { waiter.completion(.success(state)) })
    }
    return id
  }

  mutating func endRead(_ key: Key, id: UInt64) {
    unclaim(key, id: id)
    release(key)
  }

  @inlinable
  func needsNetwork(_ policy: FetchPolicy, cached: CachedValue<Value>?, now: StoreTime) -> Bool {
    if isSignedOut { return false }
    return switch policy.networkFetch {
    case .never: false
    case .always: true
    case .onCacheMiss: cached.map { $0.isPartial || freshness.isStale($0, now: now) } ?? true
    }
  }

  /// Joins the request in flight, or begins one.
  private mutating func claim(
    _ key: Key, id: UInt64, cachesResponse: Bool, waiter: Fetch<Key, Value>.Waiter? = nil
  ) {
    guard let entry = entries[key] else { return }
    let isNew = entry.fetch == nil
    var fetch = entry.fetch ?? Fetch(id: nextNumber())
    fetch.claims.insert(id)
    fetch.waiters[id] = waiter
    fetch.cachesResponse = fetch.cachesResponse || cachesResponse
    entry.fetch = fetch
    if isNew {
      writes.begin(fetch.id)
      publish(key)
      effects.append(.start(key, fetch))
    }
  }

  private mutating func unclaim(_ key: Key, id: UInt64) {
    guard let fetch = entries[key]?.fetch, fetch.claims.contains(id) else { return }
    entries[key]?.fetch?.claims.remove(id)
    garbage.append(entries[key]?.fetch?.waiters.removeValue(forKey: id) as Any)
    if fetch.claims.count > 1 { return }
    end(fetch, of: key)
    effects.append(.call { fetch.subscription.dispose() })
    publish(key)
  }

  /// Handles the response to a request; drops it if the request was cancelled, or the store signed out.
  mutating func succeed(_ key: Key, fetchID: UInt64, response: CachedValue<Value>, isCacheable: Bool, target: Key) {
    guard let fetch = entries[key]?.fetch, fetch.id == fetchID else { return }
    let (logged, targetLogged) = (writes[key], writes[target])
    end(fetch, of: key)
    if !response.isPartial { unhide(afterSuccessOf: fetchID) }
    acquire(target)
    let mayBeOutdated = fetch.mayBeOutdated || logged.invalidatedAt > fetchID
    var response = response
    response.isInvalidated = mayBeOutdated || targetLogged.invalidatedAt > fetchID

    var state = keyState(key, source: .network)
    state.cached = response
    state.errors = []
    let waiters = fetch.waiters.sorted { $0.key < $1.key }.map(\.value)
    let completeAll: WriteCompletion = { [state] error in
      for waiter in waiters { waiter.completion(error.map { .failure($0) } ?? .success(state)) }
    }

    // Watchers are notified before readers get the response.
    let isBetter = !response.isPartial || entries[target]?.cached?.isPartial ?? true
    let isSuperseded = logged.writtenOrRequestedAt > fetchID
    let isNewest =
      isCacheable && fetch.cachesResponse && !isSuperseded && targetLogged.writtenOrRequestedAt <= fetchID && isBetter
    let lacksChange = max(logged.changedAt, targetLogged.changedAt) > fetchID
    let isCached = isNewest && !lacksChange
    let isOutOfDate = isSuperseded && entries[key]?.cached?.isInvalidated ?? false
    // Claimed before watchers are notified, so that they see at once that a request is in flight; begun at the end.
    let effectsBefore = effects.count
    if mayBeOutdated || isOutOfDate || isNewest && lacksChange { refetch(key) }
    let beginning = Array(effects[effectsBefore...])
    effects.removeSubrange(effectsBefore...)
    if isCached {
      cache(response, for: target, requestedAt: fetchID)
      publish(target, source: .network)
    }
    if !isCached || target != key {
      setErrors(response.errors, for: key)
      entries[key]?.hasFailed = false
      // A superseded response is old news, even if that value was removed since.
      let uncached: (response: CachedValue<Value>, for: Set<UInt64>)? = isSuperseded ? nil : (response, fetch.claims)
      publish(key, uncached: uncached)
    }
    if isCached {
      write(response, for: target, isAsynchronous: true, completion: completeAll)
    } else {
      effects.append(.call { completeAll(nil) })
    }
    release(target)
    effects += beginning
  }

  /// Handles the failure of a request. In an outage, which has no effect, the cached value may be returned instead;
  /// `source` is where it comes from.
  mutating func fail(
    _ key: Key, fetchID: UInt64, error: any Error, isOutage: Bool, effect: FailureEffect, source: SnapshotSource,
    now: StoreTime
  ) {
    guard let fetch = entries[key]?.fetch, fetch.id == fetchID else { return }
    end(fetch, of: key)
    setErrors([error], for: key)
    entries[key]?.hasFailed = isOutage
    switch effect {
    case .keep: break
    case .remove: remove(key, isAsynchronous: true)
    case .hideAll:
      refusedAt = nextNumber()
      for other in Array(entries.keys) where other != key { publish(other) }
    case .removeAll: removeAll(isAsynchronous: true) { _ in }
    }
    let cached = current(key, now: now)
    let state = keyState(key, source: source)
    publish(key, source: source)
    for (_, waiter) in fetch.waiters.sorted(by: { $0.key < $1.key }) {
      let readsCache = isOutage && waiter.policy.cacheRead != .never
      let standsIn = readsCache && cached.map { freshness.isUsableOnError($0, now: now) } ?? false
      effects.append(.call { waiter.completion(standsIn ? .success(state) : .failure(error)) })
    }
  }

  /// Shows again what a refusal has hidden, if the server has accepted a request or mutation that began after it.
  mutating func unhide(afterSuccessOf number: UInt64) {
    guard let refusedAt, number > refusedAt else { return }
    self.refusedAt = nil
    for key in Array(entries.keys) { publish(key) }
  }

  private mutating func end(_ fetch: Fetch<Key, Value>, of key: Key) {
    entries[key]?.fetch = nil
    // What the request's stream has captured may be released with it.
    garbage.append(fetch)
    garbage.append(writes.end(fetch.id) as Any)
  }

  private mutating func setErrors(_ errors: [any Error], for key: Key) {
    garbage.append(entries[key]?.errors as Any)
    entries[key]?.errors = errors
    let number = nextNumber()
    entries[key]?.failure = number
  }

  /// Makes a new request if a key has watchers whose policy uses the network and caches the response; returns whether
  /// it did. If a request is in flight, they join it, and the next one is made when its response has come.
  @discardableResult
  mutating func refetch(_ key: Key) -> Bool {
    guard let entry = entries[key], !isSignedOut else { return false }
    let isNew = entry.fetch == nil
    let watchers = entry.watchers.filter { $0.policy.networkFetch != .never && $0.policy.cachesResponse }
    for watcher in watchers { claim(key, id: watcher.id, cachesResponse: true) }
    return isNew && !watchers.isEmpty
  }
}
