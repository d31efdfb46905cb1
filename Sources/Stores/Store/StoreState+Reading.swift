import Streams
public import SystemBase

extension StoreState {
  /// What memory has for a key, unless it has expired; `nil` if nothing.
  @inlinable
  func recalled(_ key: Key, now: StoreTime) -> KeyState<Key, Value>? {
    recalled(key, entries.isEmpty ? nil : entries[key], at: memory.place(of: key), now: now)
  }

  /// What memory has for a key whose place there, and entry, are known. A value is large: each function that it is
  /// passed to copies it.
  @inlinable
  func recalled(
    _ key: Key, _ entry: StoreEntry<Key, Value>?, at place: Int?, now: StoreTime
  ) -> KeyState<Key, Value>? {
    guard let cached = entry?.cached ?? place.flatMap({ memory.value(at: $0) }),
      !freshness.isExpired(cached, now: now), !isHidden(cached)
    else { return nil }
    return KeyState(key: key, cached: cached, layers: layers.concerning(key), source: .memory, entry: entry)
  }

  /// What memory has for a key as the result of a read, and whether it is stale; `nil` if the read needs more than
  /// that, or the value has to be put back into memory.
  @inlinable
  mutating func recall(
    _ key: Key, policy: FetchPolicy, now: StoreTime
  ) -> (state: KeyState<Key, Value>, isStale: Bool)? {
    // One look-up for the value and its use, and none for an entry while no key is in use.
    guard ending == nil, policy.cacheRead == .beforeNetworkFetch, let place = memory.place(of: key) else { return nil }
    let entry = entries.isEmpty ? nil : entries[key]
    guard let state = recalled(key, entry, at: place, now: now) else { return nil }
    let isStale = state.isStale(by: freshness, now: now)
    switch need(policy, cached: state.cached, isStale: isStale, now: now) {
    case .nothing: break
    case .refresh where isRefreshing(key): break
    case .refresh, .response: return nil
    }
    memory.use(at: place)
    noteRead(key, now: now)
    return (state, isStale)
  }

  /// Adds a watcher to a key that was acquired; returns the watcher's id.
  mutating func watch(
    _ key: Key, policy: FetchPolicy, context: ReadContext, source: SnapshotSource,
    observer: AnyObserver<Snapshot<Value>>, now: StoreTime
  ) -> UInt64 {
    let id = nextNumber()
    var waitsForNetwork = policy.cacheRead != .beforeNetworkFetch
    if ending == nil {
      let cached = current(key, now: now)
      switch need(policy, cached: cached, now: now) {
      case .nothing: break
      case .refresh: refresh(key, context, now: now)
      case .response:
        if let failure = suspension(of: key, policy, context, cached: cached, now: now) {
          show(failure, of: key)
          let isUsable = cached.map { freshness.isUsableOnError($0, now: now) } ?? true
          if failure.isOutage, isUsable { waitsForNetwork = false }
        } else {
          claim(key, id: id, context, cachesResponse: policy.cachesResponse)
        }
      }
    }
    let state = keyState(key, source: source)
    let watcher = Watcher<Key, Value>(
      id: id, policy: policy, context: context, hiddenThrough: waitsForNetwork ? state.version : nil, observer: observer
    )
    entries[key]?.watchers.append(watcher)
    if ending != .closed { discard(watcher.post(Publication(state), uncached: nil)) }
    if ending != nil { watcher.end() }
    // Before the request that was just begun: the watcher sees that it is in flight.
    effects.insert(.deliver([watcher]), at: 0)
    return id
  }

  mutating func unwatch(_ key: Key, id: UInt64) {
    guard let entry = entries[key] else { return }
    let place = entry.watchers.partitioningIndex { $0.id >= id }
    if place < entry.watchers.count, entry.watchers[place].id == id {
      discard(entry.watchers.remove(at: place))
    }
    unclaim(key, id: id)
    release(key)
  }

  /// Answers a read of a key that was acquired, now or when its request ends. Returns the read's id.
  mutating func read(
    _ key: Key, source: SnapshotSource, waiter: Fetch<Key, Value>.Waiter, context: ReadContext, now: StoreTime
  ) -> UInt64 {
    let id = nextNumber()
    let policy = waiter.policy
    if let ending {
      effects.append(.answer(waiter, .failure(ending)))
      return id
    }
    let cached = policy.cacheRead == .never ? nil : current(key, now: now)
    switch need(policy, cached: cached, now: now) {
    case .nothing: break
    case .refresh: refresh(key, context, now: now)
    case .response:
      if let failure = suspension(of: key, policy, context, cached: cached, now: now) {
        show(failure, of: key)
        answer(waiter, failure.error, isOutage: failure.isOutage, cached, keyState(key, source: source), now: now)
      } else {
        claim(key, id: id, context, cachesResponse: policy.cachesResponse, waiter: waiter)
      }
      return id
    }
    let state = keyState(key, source: source)
    effects.append(.answer(waiter, .success(state)))
    return id
  }

  mutating func endRead(_ key: Key, id: UInt64) {
    unclaim(key, id: id)
    release(key)
  }

  /// What a read needs of the network.
  @usableFromInline enum Need { case nothing, refresh, response }

  func need(_ policy: FetchPolicy, cached: CachedValue<Value>?, now: StoreTime) -> Need {
    need(policy, cached: cached, isStale: cached.map { freshness.isStale($0, now: now) } ?? false, now: now)
  }

  @inlinable
  func need(_ policy: FetchPolicy, cached: CachedValue<Value>?, isStale: Bool, now: StoreTime) -> Need {
    switch policy.networkFetch {
    case .never: return .nothing
    case .always: return .response
    case .onCacheMiss, .inBackground:
      guard let cached else { return .response }
      if isStale { return policy.networkFetch == .inBackground ? .refresh : .response }
      return freshness.isRefreshDue(cached, now: now) ? .refresh : .nothing
    }
  }

  /// Begins a request, or joins one of the same identity.
  private mutating func claim(
    _ key: Key, id: UInt64, _ context: ReadContext, cachesResponse: Bool, waiter: Fetch<Key, Value>.Waiter? = nil
  ) {
    guard let entry = entries[key] else { return }
    if let place = entry.fetches.firstIndex(where: { $0.context.mayJoin(context) }) {
      entry.fetches[place].claims[id] = .some(waiter)
      if cachesResponse { entry.fetches[place].cachesResponse = true }
      return
    }
    var fetch = Fetch<Key, Value>(id: nextNumber(), context: context, version: nextVersion())
    fetch.claims[id] = .some(waiter)
    fetch.cachesResponse = cachesResponse
    entry.fetches.append(fetch)
    writes.begin(fetch.id)
    publish(key)
    effects.append(.start(key, fetch))
  }

  private mutating func unclaim(_ key: Key, id: UInt64) {
    guard let entry = entries[key], let place = entry.fetches.firstIndex(where: { $0.claims.keys.contains(id) }) else {
      return
    }
    let fetch = entry.fetches[place]
    discard(entry.fetches[place].claims.removeValue(forKey: id) as Any?)
    if fetch.claims.count > 1 { return }
    end(fetch, of: key)
    effects.append(.cancel(fetch))
    publish(key)
  }

  /// Whether the store itself requests the value of a key.
  @usableFromInline
  func isRefreshing(_ key: Key) -> Bool {
    entries[key]?.fetches.contains { $0.claims.keys.contains(Fetch<Key, Value>.ownClaim) } ?? false
  }

  /// Lets the store itself request the value of a key, unless it does so, or requests of the key fail.
  private mutating func refresh(_ key: Key, _ context: ReadContext, now: StoreTime) {
    let own = Fetch<Key, Value>.ownClaim
    guard let entry = entries[key], failures.peek(key)?.isRecent(now: now) != true,
      !entry.fetches.contains(where: { $0.context.mayJoin(context) && $0.claims.keys.contains(own) })
    else { return }
    // Until the end of the request.
    acquire(key)
    claim(key, id: own, context, cachesResponse: true)
  }

  /// Whether the latest request of a key has failed so recently that this read makes none.
  func isSuspended(_ key: Key, for policy: FetchPolicy, now: StoreTime) -> Bool {
    policy.cacheRead != .never && failures.peek(key)?.isRecent(now: now) == true
  }

  /// The failure because of which a read neither makes a request nor joins one.
  private func suspension(
    of key: Key, _ policy: FetchPolicy, _ context: ReadContext, cached: CachedValue<Value>?, now: StoreTime
  ) -> KeyFailure? {
    guard isSuspended(key, for: policy, now: now), let failure = failures.peek(key) else { return nil }
    if let entry = entries[key], entry.fetches.contains(where: { $0.context.mayJoin(context) }) { return nil }
    guard failure.isPartial else { return failure }
    // Without the better value, a part is worth a request.
    return cached.map { !$0.isPartial && freshness.isUsableOnError($0, now: now) } == true ? failure : nil
  }

  /// Lets snapshots have an earlier failure whose entry is gone.
  private mutating func show(_ failure: KeyFailure, of key: Key) {
    guard let entry = entries[key], entry.errors.isEmpty else { return }
    setErrors([failure.error], for: key)
    entry.hasFailed = failure.isOutage
  }

  /// Ends a read whose request has failed, with the error, or in an outage with the cached value.
  private mutating func answer(
    _ waiter: Fetch<Key, Value>.Waiter, _ error: any Error, isOutage: Bool, _ cached: CachedValue<Value>?,
    _ state: KeyState<Key, Value>, now: StoreTime
  ) {
    let readsCache = isOutage && waiter.policy.cacheRead != .never
    let standsIn = readsCache && cached.map { freshness.isUsableOnError($0, now: now) } ?? false
    effects.append(.answer(waiter, standsIn ? .success(state) : .failure(error)))
  }

  /// Handles the response to a request; drops it if the request was cancelled, or the store signed out.
  /// - Parameter pushed: How many pushes were applied to it. If there are more by now, this does nothing, and returns
  ///   `false`.
  mutating func succeed(
    _ key: Key, fetchID: UInt64, response: CachedValue<Value>, pushed: Int, isCacheable: Bool, target: Key
  ) -> Bool {
    guard let entry = entries[key], let place = entry.place(of: fetchID) else { return true }
    let fetch = entry.fetches[place]
    if pushes(to: key, during: fetchID).count > pushed { return false }
    let (logged, targetLogged) = (writes[key], writes[target])
    end(fetch, of: key)
    // Those to the key itself were applied.
    let lacksPush = target != key && targetLogged.pushedAt > fetchID
    refetchLater(key, wasOvertaken: pushed > 0 || lacksPush)
    acquire(target)
    let mayBeOutdated = fetch.mayBeOutdated || logged.invalidatedAt > fetchID
    var response = response
    response.isInvalidated = mayBeOutdated || targetLogged.invalidatedAt > fetchID

    var state = keyState(key, source: .network)
    state.cached = response
    state.errors = []
    let waiters = fetch.waiters
    let completeAll: WriteCompletion = { [state] error in
      Fetch.answer(waiters, error.map { .failure($0) } ?? .success(state))
    }

    // Watchers are notified before readers get the response.
    let isBetter =
      !response.isPartial || entries[target]?.cached.map { $0.isPartial || isPart?($0.value) == true } ?? true
    let isRemoved = max(logged.removedAt, targetLogged.removedAt) > fetchID
    let isSuperseded = isRemoved || logged.writtenOrRequestedAt > fetchID
    let isNewest =
      isCacheable && fetch.cachesResponse && !isSuperseded && targetLogged.writtenOrRequestedAt <= fetchID && isBetter
    let lacksChange = max(logged.changedAt, targetLogged.changedAt) > fetchID
    let isCached = isNewest && !lacksChange && !lacksPush
    // A watcher gets one state: that with the response.
    if !response.isPartial { unhide(afterSuccessOf: fetchID, showing: { $0 != key && !(isCached && $0 == target) }) }
    let isOutOfDate = isSuperseded && entries[key]?.cached?.isInvalidated ?? false
    // Claimed before watchers are notified, so that they see at once that a request is in flight; begun at the end.
    let beginning = postponing { state in
      if mayBeOutdated || isOutOfDate || isNewest && lacksChange { state.refetch(key) }
      // Those who wait for a value that was removed meanwhile get what the server has now.
      if isRemoved { state.refetch(key, for: fetch.claims.keys) }
    }
    if isCached {
      response = cache(response, for: target, requestedAt: fetchID, version: pushed > 0 ? nil : fetch.version)
      publish(target, source: .network)
    }
    forgetFailure(of: key)
    if !isBetter, let error = response.errors.first {
      let failure = KeyFailure(
        error: error, isOutage: true, isPartial: true, at: response.writtenAt, delay: freshness.partialTime)
      discard(all: failures.write(failure, for: target, cost: 0))
    }
    if !isCached || target != key {
      setErrors(response.errors, for: key)
      entries[key]?.hasFailed = false
      // A superseded response is old news, even if that value was removed since.
      publish(key, uncached: isSuperseded ? nil : (response, fetch))
    }
    let completing = effects.count
    if isCached {
      write(response, for: target, isAsynchronous: true, isResponse: pushed == 0, completion: completeAll)
    } else {
      effects.append(.complete(completeAll, nil))
    }
    release(target)
    releaseOwn(fetch, of: key)
    if !beginning.isEmpty { markAnswers(since: completing) }
    effects += beginning
    return true
  }

  /// Handles the failure of a request. In an outage, which has no effect, the cached value may be returned instead.
  /// - Parameters:
  ///   - delay: How long the key is not requested again.
  ///   - source: Where the cached value comes from.
  mutating func fail(
    _ key: Key, fetchID: UInt64, error: any Error, isOutage: Bool, effect: FailureEffect, delay: Duration?,
    source: SnapshotSource, now: StoreTime
  ) {
    guard let entry = entries[key], let place = entry.place(of: fetchID) else { return }
    let fetch = entry.fetches[place]
    end(fetch, of: key)
    setErrors([error], for: key)
    entries[key]?.hasFailed = isOutage
    let count = failureCount(of: key) + 1
    let waiters = fetch.waiters
    // Carried out after watchers are notified. Readers get the failure once what they may not see is gone, or is hidden
    // for the next process, too. Nothing stands in.
    let applying = postponing { state in
      guard effect != .keep else { return }
      let effectsBefore = state.effects.count
      state.apply(effect, of: key) { _ in Fetch.answer(waiters, .failure(error)) }
      if !waiters.isEmpty { state.markAnswers(since: effectsBefore) }
    }
    if let delay {
      let failure = KeyFailure(error: error, isOutage: isOutage, count: count, at: now, delay: delay)
      discard(all: failures.write(failure, for: key, cost: 0))
      sweepLater()
    }
    let cached = current(key, now: now)
    let state = keyState(key, source: source)
    publish(key, source: source)
    effects += applying
    if effect == .keep {
      for waiter in waiters { answer(waiter, error, isOutage: isOutage, cached, state, now: now) }
    }
    releaseOwn(fetch, of: key)
  }

  /// Carries out the effect of a refusal; of a mutation of all keys, if `key` is `nil`. The completion runs when the
  /// removal, or the mark of the refusal, is in the source of truth, if writing through.
  mutating func apply(_ effect: FailureEffect, of key: Key?, completion: @escaping WriteCompletion) {
    switch effect {
    case .remove where key != nil: if let key { remove(key, completion: completion) }
    case .keep, .remove: effects.append(.complete(completion, nil))
    case .hideAll:
      refusedAt = nextNumber()
      for other in Array(entries.keys) where other != key { publish(other) }
      // Also if it is known: the mark may have been removed since, with everything, or by another process.
      store(.refuse(true), isAsynchronous: true, completion: completion)
    case .removeAll: removeAll(then: completion)
    }
  }

  /// Notes that what completes since a number of effects gives readers their result, so that those who stall keep none
  /// of the effects after it from being carried out.
  private mutating func markAnswers(since count: Int) {
    for place in count..<effects.count {
      switch effects[place] {
      case .complete, .finish: effects[place] = .answering(effects[place])
      default: break
      }
    }
  }

  /// How many requests of a key have failed in a row.
  func failureCount(of key: Key) -> Int { failures.peek(key).map { $0.isPartial ? 0 : $0.count } ?? 0 }

  /// Shows again what a refusal has hidden, if the server has accepted a request or mutation that began after it.
  /// - Parameter isShown: Whether the watchers of a key are notified here; by default, those of all.
  mutating func unhide(afterSuccessOf number: UInt64, showing isShown: (Key) -> Bool = { _ in true }) {
    guard let refusedAt, number > refusedAt else { return }
    self.refusedAt = nil
    store(.refuse(false), isAsynchronous: true)
    for key in Array(entries.keys) where isShown(key) { publish(key) }
  }

  private mutating func end(_ fetch: Fetch<Key, Value>, of key: Key) {
    // What the request's stream has captured may be released with it.
    discard(fetch)
    if let entry = entries[key], let place = entry.place(of: fetch.id) { entry.fetches.remove(at: place) }
    dropPushes(of: key)
    discard(writes.end(fetch.id))
  }

  private mutating func releaseOwn(_ fetch: Fetch<Key, Value>, of key: Key) {
    if fetch.claims.keys.contains(Fetch<Key, Value>.ownClaim) { release(key) }
  }

  /// Cancels all requests, and fails those that wait for them.
  mutating func cancelAll(_ error: StoreError) {
    for (key, entry) in entries {
      for fetch in entry.fetches {
        end(fetch, of: key)
        effects.append(.cancel(fetch))
        for waiter in fetch.waiters { effects.append(.answer(waiter, .failure(error))) }
        releaseOwn(fetch, of: key)
      }
    }
  }

  private mutating func setErrors(_ errors: [any Error], for key: Key) {
    discard(entries[key]?.errors)
    entries[key]?.errors = errors
    let number = nextNumber()
    entries[key]?.failure = number
  }

  /// Makes a new request if a key has watchers whose policy uses the network and caches the response; returns whether
  /// it did. If a request is in flight, they join it, and the next one is made when its response has come.
  /// - Parameter ids: Those of the watchers that do so; all by default.
  @discardableResult
  mutating func refetch(_ key: Key, for ids: Dictionary<UInt64, Fetch<Key, Value>.Waiter?>.Keys? = nil) -> Bool {
    guard let entry = entries[key], ending == nil else { return false }
    let count = entry.fetches.count
    let watchers = entry.watchers.filter { $0.policy.networkFetch != .never && $0.policy.cachesResponse }
    for watcher in watchers where ids?.contains(watcher.id) ?? true {
      claim(key, id: watcher.id, watcher.context, cachesResponse: true)
    }
    return entry.fetches.count > count
  }
}
