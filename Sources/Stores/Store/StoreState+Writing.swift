import Streams
import SystemBase

extension StoreState {
  /// Caches a value and notifies watchers. The response to a request that began earlier does not replace it; if the
  /// value was only changed locally, the request is made again.
  mutating func save(
    _ cached: CachedValue<Value>, for key: Key, isChange: Bool = false, isInOrder: Bool = false,
    isPush: Bool = false, isAsynchronous: Bool = false, completion: WriteCompletion? = nil
  ) {
    if let ending {
      if let completion { effects.append(.complete(completion, ending)) }
      return
    }
    let cached = cache(cached, for: key, isChange: isChange, isPush: isPush, isInOrder: isInOrder)
    publish(key)
    write(cached, for: key, isAsynchronous: isAsynchronous, completion: completion)
  }

  /// Caches a local change of a value, unless the key was written since `version`; returns whether it was not.
  /// - Parameter push: The change, if a server has pushed it: it is applied to the responses to requests in flight,
  ///   too.
  mutating func save(
    changed: CachedValue<Value>, for key: Key, version: UInt64, push: (@Sendable (Value) -> Value?)? = nil,
    isAsynchronous: Bool = false, completion: WriteCompletion? = nil
  ) -> Bool {
    guard isCurrent(version, key) else { return false }
    let isPush = push.map { keep($0, for: key) } ?? false
    save(
      keepingInvalidation(changed, key), for: key, isChange: true, isPush: isPush, isAsynchronous: isAsynchronous,
      completion: completion)
    return true
  }

  private func isCurrent(_ version: UInt64, _ key: Key) -> Bool { entries[key].map { $0.version == version } ?? false }

  /// A value may have been invalidated since it was read to be changed.
  private func keepingInvalidation(_ changed: CachedValue<Value>, _ key: Key) -> CachedValue<Value> {
    var changed = changed
    changed.isInvalidated = changed.isInvalidated || entries[key]?.cached?.isInvalidated ?? false
    return changed
  }

  /// Marks the responses to requests in flight as out of date: they may lack a change that the server has made.
  func markResponsesOutdated(of key: Key) {
    guard let entry = entries[key] else { return }
    for place in entry.fetches.indices { entry.fetches[place].mayBeOutdated = true }
  }

  /// Marks a value as out of date, also in the source of truth, by whatever process it was written, and makes a new
  /// request for its watchers.
  mutating func invalidate(_ key: Key, completion: WriteCompletion? = nil) {
    guard ending == nil else {
      if let completion { effects.append(.complete(completion, nil)) }
      return
    }
    forgetFailure(of: key)
    let number = nextNumber()
    discard(writes.log(key, at: number) { $0.invalidatedAt = number })
    if let entry = entries[key], !entry.isLoaded { entry.isInvalidatedWhileLoading = true }
    if var cached = entries[key]?.cached, !cached.isInvalidated {
      cached.isInvalidated = true
      entries[key]?.cached = cached
    }
    memory.modify(key) { $0.isInvalidated = true }
    // Before the request, whose response has a later version; but it is carried out last: it may call an observer, which
    // may stall.
    let storing = postponing { $0.store(.invalidate(key), isAsynchronous: true, completion: completion) }
    if !refetch(key) { publish(key) }
    effects += storing
  }

  /// Whether the source of truth may have a value of a key that memory has not.
  func mayHaveUnread(_ key: Key) -> Bool { entries[key].map { $0.isUnreadable || !$0.isLoaded } ?? false }

  /// Marks what only the source of truth may have of a key as out of date, since it is not there to be changed, and the
  /// responses to requests in flight, which may lack the change.
  mutating func invalidateUnread(_ key: Key, completion: @escaping WriteCompletion) {
    guard ending == nil else { return effects.append(.complete(completion, nil)) }
    if let entry = entries[key], !entry.isLoaded { entry.isInvalidatedWhileLoading = true }
    markResponsesOutdated(of: key)
    store(.invalidate(key), isAsynchronous: true, completion: completion)
  }

  /// Removes a value, also from the source of truth, and notifies watchers.
  mutating func remove(_ key: Key, completion: WriteCompletion? = nil) {
    guard ending == nil else {
      if let completion { effects.append(.complete(completion, nil)) }
      return
    }
    discard(memory.remove(key))
    empty(key)
    store(.remove(key, nextVersion()), isAsynchronous: true, completion: completion)
    publish(key)
  }

  /// Removes everything; requests in flight continue. The completion runs when nothing is left in the source of truth.
  mutating func removeAll(then completion: @escaping WriteCompletion) {
    if ending == .signedOut { return removeRemains(then: completion) }
    writes.logRemovalOfAll(at: nextNumber())
    store(.removeAll(nextVersion()), isAsynchronous: true, completion: completion)
    forgetAll()
  }

  /// Forgets all values that memory has.
  mutating func forgetAll() {
    discard(all: memory.removeAll())
    discard(all: failures.removeAll())
    for key in Array(entries.keys) {
      empty(key)
      publish(key)
    }
  }

  /// After a sign-out: waits for its removal, or tries again if that has failed. Otherwise there is nothing to do: the
  /// records may belong to another store by now, opened after this one was signed out.
  private mutating func removeRemains(then completion: @escaping WriteCompletion) {
    if let shared = storage.shared, shared.joinRemoval(completion) {
      effects.append(.shareRemoval)
    } else if let removal = storage.queue?.removal {
      effects.append(.finish(removal, .elsewhere, completion))
    } else if storage.queue?.hasRemains == true {
      store(.signOut(nextVersion()), isAsynchronous: true, completion: completion)
    } else {
      effects.append(.complete(completion, nil))
    }
  }

  /// Ends everything: requests are cancelled, late responses are dropped, and nothing is kept or shown any more. Later
  /// calls only remove what an earlier one could not.
  /// - Parameter others: The stores that this sign-out has ended. The removal is later than all that they have written.
  mutating func signOut(
    after others: SharedAccount.Ended = SharedAccount.Ended(), then completion: @escaping WriteCompletion
  ) {
    // If there are some, another call at the same time did not know what they have written.
    if ending == .signedOut, others.notifications.isEmpty {
      noteRemains(of: others)
      return removeRemains(then: completion)
    }
    see(others.latest)
    endAll(.signedOut)
    store(.signOut(nextVersion()), isAsynchronous: true, completion: completion)
    noteRemains(of: others)
    effects.append(.endOtherStores(others))
    if ending == .signedOut { return }
    forgetAll()
    ending = .signedOut
    endWatchers()
  }

  /// Lets the account's next session know which values its sign-out removes.
  private mutating func noteRemains(of others: SharedAccount.Ended) {
    guard others.isFirst, let shared = storage.shared else { return }
    shared.setRemains(olderThan: latestVersion)
    effects.append(.shareRemoval)
  }

  /// Ends everything because another store or process has signed the account out.
  mutating func endSignedOut() {
    if ending == .signedOut { return }
    if let abandoned = storage.shared?.end() {
      discard(abandoned.garbage)
      effects += abandoned.completions.map { .answering(.complete($0, StoreError.signedOut)) }
    }
    if ending == .closed {
      ending = .signedOut
      return
    }
    endAll(.signedOut)
    forgetAll()
    ending = .signedOut
    endWatchers()
  }

  /// Ends everything, as a sign-out does, but leaves what is in the source of truth.
  mutating func close() {
    guard ending == nil else { return }
    endAll(.closed)
    discard(all: memory.removeAll())
    discard(all: failures.removeAll())
    for key in Array(entries.keys) { empty(key) }
    ending = .closed
    endWatchers()
  }

  private mutating func endAll(_ error: StoreError) {
    discard((layers, writes, localWrites))
    cancelAll(error)
    (layers, writes, localWrites) = (Layers(), WriteLog(), WriteLog())
  }

  private mutating func endWatchers() {
    for watcher in entries.values.flatMap(\.watchers) { watcher.end() }
    effects.append(.deliver(entries.values.flatMap(\.watchers)))
  }
}

/// Optimistic changes, from the layer that shows one to the cached values that include it.
extension StoreState {
  mutating func add(_ layer: Layer<Key, Value>) {
    layers.add(layer)
    if layer.isInOrder {
      localWrites.begin(layer.id, for: layer.key)
    } else {
      writes.begin(layer.id, for: layer.key)
    }
    publishAll(of: layer)
  }

  /// Removes a layer, unless it is being committed; the keys it applied to are shown without it.
  mutating func removeLayer(_ id: UInt64) {
    if !layers.isCommitting(id) { endLayer(id) }
  }

  /// From now on, only `endLayer` removes the layer. Returns `false` if it has been removed already.
  mutating func beginCommit(of id: UInt64) -> Bool {
    guard layers.beginCommit(of: id) else { return false }
    unhide(afterSuccessOf: id)
    return true
  }

  /// Removes a layer whose commit is done.
  mutating func endLayer(_ id: UInt64) {
    guard let layer = layers.remove(id) else { return }
    discard(layer)
    // For a change that waits in order, maybe for long, only local writes are logged: the responses to requests are
    // older than its own.
    discard(layer.isInOrder ? localWrites.end(id, for: layer.key) : writes.end(id, for: layer.key))
    publishAll(of: layer)
  }

  /// In one step, caches the response to a change and stops showing the change; unless the cached value may be newer
  /// than the response: then this does nothing, and returns `false`, and the change has to be rebased onto that value.
  mutating func commit(
    _ layer: Layer<Key, Value>, response: CachedValue<Value>, for key: Key, completion: @escaping WriteCompletion
  ) -> Bool {
    let logged = writes[key]
    let writtenAt = max(logged.writtenOrRequestedAt, logged.changedAt)
    // Removed since the change began, and so not to be brought back by it. One that waits in order was sent later.
    if !layer.isInOrder, logged.removedAt > max(layer.id, writtenAt), (entries[key]?.cached ?? memory.peek(key)) == nil
    {
      endLayer(layer.id)
      effects.append(.complete(completion, nil))
      return true
    }
    if !layer.isInOrder, max(writtenAt, logged.pushedAt) > layer.id { return false }
    cache(response, of: layer, for: key, completion: completion)
    endLayer(layer.id)
    return true
  }

  /// Commits a change that was rebased onto the cached value of a key. It is `nil` if the change does not affect that
  /// value; then the response to a request in flight may lack the change. Does nothing if the key was written since
  /// `version`; returns whether it was not.
  mutating func commit(
    _ layer: Layer<Key, Value>, rebased changed: CachedValue<Value>?, for key: Key, version: UInt64,
    completion: @escaping WriteCompletion
  ) -> Bool {
    guard isCurrent(version, key) else { return false }
    if let changed {
      // A value that was requested after the change began may have had the change already.
      let isGuess = !layer.isInOrder && writes[key].writtenOrRequestedAt > layer.id
      cache(changed, rebasedBy: layer, for: key, isGuess: isGuess, completion: completion)
    } else {
      markResponsesOutdated(of: key)
      effects.append(.complete(completion, nil))
    }
    return true
  }

  /// Commits a change to the key of its response, which a newer value supersedes. If the change does not affect that
  /// value, the response is cached nonetheless. Then the change is no longer shown.
  mutating func commit(
    _ layer: Layer<Key, Value>, supersededResponse response: CachedValue<Value>, rebased changed: CachedValue<Value>?,
    for key: Key, version: UInt64, completion: @escaping WriteCompletion
  ) -> Bool {
    guard isCurrent(version, key) else { return false }
    if let changed {
      cache(changed, rebasedBy: layer, for: key, isGuess: true, completion: completion)
    } else {
      cache(response, of: layer, for: key, completion: completion)
    }
    endLayer(layer.id)
    return true
  }

  /// The response is out of date if the key was invalidated since the change began; if that is not known, as it was
  /// before, or if it was written locally since, or pushed: it is unknown whether the response has that write.
  private mutating func cache(
    _ response: CachedValue<Value>, of layer: Layer<Key, Value>, for key: Key, completion: @escaping WriteCompletion
  ) {
    layers.markCommitted(layer.id, for: key)
    var response = response
    let old = entries[key]?.cached ?? memory.peek(key)
    let mayLackWrite = (layer.isInOrder ? localWrites[key].changedAt : writes[key].pushedAt) > layer.id
    let isInvalidated = layer.isInOrder ? old?.isInvalidated ?? false : writes[key].invalidatedAt > layer.id
    response.isInvalidated = mayLackWrite || isInvalidated
    save(response, for: key, isInOrder: layer.isInOrder, isAsynchronous: true, completion: completion)
    if mayLackWrite { refetch(key) }
  }

  /// A value that may differ from what the server has now, a guess, is out of date.
  private mutating func cache(
    _ changed: CachedValue<Value>, rebasedBy layer: Layer<Key, Value>, for key: Key, isGuess: Bool,
    completion: @escaping WriteCompletion
  ) {
    layers.markCommitted(layer.id, for: key)
    var changed = keepingInvalidation(changed, key)
    changed.isInvalidated = changed.isInvalidated || isGuess
    save(changed, for: key, isChange: true, isInOrder: layer.isInOrder, isAsynchronous: true, completion: completion)
    if isGuess { refetch(key) }
  }

  private mutating func publishAll(of layer: Layer<Key, Value>) {
    for key in layer.key.map({ [$0] }) ?? Array(entries.keys) where layer.concerns(key) { publish(key) }
  }
}
