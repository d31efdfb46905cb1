import Streams

extension StoreState {
  /// Caches a value and notifies watchers. The response to a request that began earlier does not replace it; if the
  /// value was only changed locally, the request is made again.
  mutating func save(
    _ kept: CachedValue<Value>, for key: Key, isChange: Bool = false, isInOrder: Bool = false,
    isAsynchronous: Bool = false, completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    if isSignedOut { return effects.append(.call { completion(StoreError.signedOut) }) }
    keep(kept, for: key, isChange: isChange, isInOrder: isInOrder)
    publish(key)
    write(kept, for: key, isAsynchronous: isAsynchronous, completion: completion)
  }

  /// Caches a changed value, unless the key was written since `version`; returns whether it did.
  mutating func save(
    changed kept: CachedValue<Value>, for key: Key, version: UInt64, isInOrder: Bool = false,
    isAsynchronous: Bool = false, completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    guard let entry = entries[key], entry.version == version else { return false }
    var kept = kept
    // It may have been invalidated since it was read.
    kept.isInvalidated = kept.isInvalidated || entry.kept?.isInvalidated ?? false
    save(
      kept, for: key, isChange: true, isInOrder: isInOrder, isAsynchronous: isAsynchronous, completion: completion)
    return true
  }

  /// Marks a value as out of date, and makes a new request for its watchers.
  mutating func invalidate(_ key: Key) {
    guard !isSignedOut else { return }
    let number = nextNumber()
    garbage.append(recency.note(key, at: number) { $0.invalidatedAt = number } as Any)
    if var kept = entries[key]?.kept, !kept.isInvalidated {
      kept.isInvalidated = true
      entries[key]?.kept = kept
      memory.modify(key) { $0.isInvalidated = true }
      write(kept, for: key)
    }
    if !refetch(key) { publish(key) }
  }

  /// Removes a value, also from the source of truth, and notifies watchers.
  mutating func remove(_ key: Key, isAsynchronous: Bool = false) {
    guard !isSignedOut else { return }
    garbage.append(memory.remove(key) as Any)
    empty(key)
    store(.remove(key), isAsynchronous: isAsynchronous)
    publish(key)
  }

  /// Removes everything; requests under way go on. The completion runs with the other effects.
  mutating func removeAll(then completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard !isSignedOut else { return removeRemains(then: completion) }
    garbage += memory.removeAll() as [Any]
    store(.removeAll, completion: completion)
    for key in Array(entries.keys) {
      empty(key)
      publish(key)
    }
  }

  /// After a sign-out: waits for its removal, or tries again if that has failed. Otherwise there is nothing to do: the
  /// records may belong to another store by now, opened after this one was signed out.
  private mutating func removeRemains(then completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard let storage else { return }
    if let removal = storage.removal {
      effects.append(.call { storage.finish(removal, then: completion) })
    } else if storage.hasRemains {
      store(.removeAll, completion: completion)
    }
  }

  /// Ends everything: requests are cancelled, late responses are dropped, and nothing is kept or shown any more. Later
  /// calls only remove what an earlier one could not.
  mutating func signOut(then completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard !isSignedOut else { return removeRemains(then: completion) }
    garbage.append((layers, recency, localWrites))
    (layers, recency, localWrites) = (Layers(), Recency(), Recency())
    for key in Array(entries.keys) {
      guard let fetch = entries[key]?.fetch else { continue }
      entries[key]?.fetch = nil
      effects.append(.call { fetch.subscription.dispose() })
      for (_, waiter) in fetch.waiters {
        effects.append(.call { waiter.answer(.failure(StoreError.signedOut)) })
      }
    }
    removeAll(then: completion)
    isSignedOut = true
  }

  mutating func add(_ layer: Layer<Key, Value>) {
    layers.add(layer)
    remember(layer)
    publishAll(of: layer)
  }

  /// Removes a layer; the keys it applied to are shown without it.
  mutating func removeLayer(_ id: UInt64) {
    guard let layer = layers.remove(id) else { return }
    garbage.append(layer)
    garbage.append(endRemembering(layer) as Any)
    publishAll(of: layer)
  }

  /// Whether the response to a change is still wanted, that is, its layer has not been removed. If so, what was done
  /// since the change began is remembered until `endSettling`, even if the layer is removed meanwhile.
  mutating func beginSettling(_ layer: Layer<Key, Value>) -> Bool {
    guard layers.contains(layer.id) else { return false }
    remember(layer)
    return true
  }

  mutating func endSettling(_ layer: Layer<Key, Value>) {
    removeLayer(layer.id)
    garbage.append(endRemembering(layer) as Any)
  }

  /// Remembers what is done from the beginning of a change on. For one that waits in order, maybe for long, these are
  /// local writes only: the responses to requests are older than its own.
  private mutating func remember(_ layer: Layer<Key, Value>) {
    if layer.isInOrder {
      localWrites.begin(layer.id, for: layer.key)
    } else {
      recency.begin(layer.id, for: layer.key)
    }
  }

  private mutating func endRemembering(_ layer: Layer<Key, Value>) -> Any? {
    layer.isInOrder ? localWrites.end(layer.id, for: layer.key) : recency.end(layer.id, for: layer.key)
  }

  /// Whether the cached value of a key may be newer than the response to a layer's change.
  func isOvertaken(_ layer: Layer<Key, Value>, for key: Key) -> Bool {
    let marks = recency[key]
    return !layer.isInOrder && max(marks.writtenOrAskedAt, marks.changedAt) > layer.id
  }

  /// In one step, caches the response to a change and stops showing the change over it. The value is out of date if the
  /// key was invalidated since the change began; if that is not known, as it was before, or if it was written locally
  /// since: nobody knows whether the response has that write.
  mutating func settle(
    _ layer: Layer<Key, Value>, kept: CachedValue<Value>, for key: Key,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    layers.markSettled(layer.id, for: key)
    var kept = kept
    let old = entries[key]?.kept ?? memory.peek(key)
    let mayLackWrite = layer.isInOrder && localWrites[key].changedAt > layer.id
    kept.isInvalidated =
      layer.isInOrder ? mayLackWrite || old?.isInvalidated ?? false : recency[key].invalidatedAt > layer.id
    save(kept, for: key, isInOrder: layer.isInOrder, isAsynchronous: true, completion: completion)
    if mayLackWrite { refetch(key) }
  }

  /// The same for a key to whose cached value the change was applied, unless the key was written meanwhile. Returns
  /// whether it did. The value is a guess, and so out of date, if the key has an answer, which was not used because of
  /// what was written since the change began; or if its value was requested after the change began, since it may have
  /// had the change already.
  mutating func settle(
    _ layer: Layer<Key, Value>, changed: CachedValue<Value>, for key: Key, version: UInt64, isAnswered: Bool,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    guard entries[key]?.version == version else { return false }
    layers.markSettled(layer.id, for: key)
    let isGuess = isAnswered || !layer.isInOrder && recency[key].writtenOrAskedAt > layer.id
    var changed = changed
    changed.isInvalidated = changed.isInvalidated || isGuess
    let isSaved = save(
      changed: changed, for: key, version: version, isInOrder: layer.isInOrder, isAsynchronous: true,
      completion: completion)
    if isGuess { refetch(key) }
    return isSaved
  }

  /// Records that the cached value of a key lacks a change that the server has made, so that the response to a request
  /// under way may lack it, too; does nothing if the key was written meanwhile. Returns whether it did.
  mutating func outdateFetch(_ key: Key, version: UInt64) -> Bool {
    guard let entry = entries[key], entry.version == version else { return false }
    entry.fetch?.mayBeOutdated = true
    return true
  }

  private mutating func publishAll(of layer: Layer<Key, Value>) {
    for key in layer.key.map({ [$0] }) ?? Array(entries.keys) where layer.concerns(key) { publish(key) }
  }
}
