import Streams

extension StoreState {
  /// Keeps a value, and tells who watches; an answer to a request that began before does not take its place. One that
  /// lacks a mere change of what was there is asked for again.
  mutating func save(
    _ kept: CachedValue<Value>, for key: Key, isChange: Bool = false,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    if isSignedOut { return effects.append(.call { completion(StoreError.signedOut) }) }
    keep(kept, for: key, isChange: isChange)
    publish(key)
    write(kept, for: key, completion: completion)
  }

  /// Keeps what was made of the value that was kept, unless that was written meanwhile; says whether it did.
  mutating func save(
    changed kept: CachedValue<Value>, for key: Key, version: UInt64,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    guard let entry = entries[key], entry.version == version else { return false }
    var kept = kept
    // It may have been invalidated since it was read.
    kept.isInvalidated = kept.isInvalidated || entry.kept?.isInvalidated ?? false
    save(kept, for: key, isChange: true, completion: completion)
    return true
  }

  /// Marks a value as out of date, and asks anew for those who watch it.
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

  /// Removes a value, also from the source of truth, and tells who watches.
  mutating func remove(_ key: Key) {
    guard !isSignedOut else { return }
    garbage.append(memory.remove(key) as Any)
    empty(key)
    store(.remove(key))
    publish(key)
  }

  /// Removes everything; requests under way go on.
  mutating func removeAll() {
    // What is there now may be another store's, which was opened after this one was signed out.
    guard !isSignedOut else { return }
    garbage += memory.removeAll() as [Any]
    store(.removeAll)
    for key in Array(entries.keys) {
      empty(key)
      publish(key)
    }
  }

  /// Ends everything: requests are cancelled, late answers find nobody, and nothing is kept or shown any more.
  mutating func signOut() {
    guard !isSignedOut else { return }
    garbage.append((layers, recency))
    (layers, recency) = (Layers(), Recency())
    for key in Array(entries.keys) {
      guard let fetch = entries[key]?.fetch else { continue }
      entries[key]?.fetch = nil
      effects.append(.call { fetch.subscription.dispose() })
      for (_, waiter) in fetch.waiters {
        effects.append(.call { waiter.answer(.failure(StoreError.signedOut)) })
      }
    }
    removeAll()
    isSignedOut = true
  }

  mutating func add(_ layer: Layer<Key, Value>) {
    layers.add(layer)
    if !layer.isInOrder { recency.begin(layer.id, for: layer.key) }
    publishAll(of: layer)
  }

  /// Takes a layer away: what it had changed is shown as it is kept.
  mutating func removeLayer(_ id: UInt64) {
    guard let layer = layers.remove(id) else { return }
    garbage.append(layer)
    if !layer.isInOrder { garbage.append(recency.end(layer.id, for: layer.key) as Any) }
    publishAll(of: layer)
  }

  /// Whether the answer to a change is still wanted: its layer is there. What is done from the change's beginning on is
  /// then remembered until the settling ends, whatever becomes of the layer.
  mutating func beginSettling(_ layer: Layer<Key, Value>) -> Bool {
    guard layers.contains(layer.id) else { return false }
    if !layer.isInOrder { recency.begin(layer.id, for: layer.key) }
    return true
  }

  mutating func endSettling(_ layer: Layer<Key, Value>) {
    removeLayer(layer.id)
    if !layer.isInOrder { garbage.append(recency.end(layer.id, for: layer.key) as Any) }
  }

  /// Whether what is kept for a key may be newer than the server's answer to the change of a layer.
  func isOvertaken(_ layer: Layer<Key, Value>, for key: Key) -> Bool {
    let marks = recency[key]
    return !layer.isInOrder && max(marks.writtenOrAskedAt, marks.changedAt) > layer.id
  }

  /// In one step: what the server made of a change is kept, and the change is no longer shown over it. It is out of date
  /// where the key was invalidated since the change began; or at all, where that is not known.
  mutating func settle(
    _ layer: Layer<Key, Value>, kept: CachedValue<Value>, for key: Key,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    layers.markSettled(layer.id, for: key)
    var kept = kept
    let old = entries[key]?.kept ?? memory.peek(key)
    kept.isInvalidated = layer.isInOrder ? old?.isInvalidated ?? false : recency[key].invalidatedAt > layer.id
    save(kept, for: key, completion: completion)
  }

  /// The same for another key whose kept value the change was made in, unless that was written meanwhile.
  mutating func settle(
    _ id: UInt64, changed: CachedValue<Value>, for key: Key, version: UInt64,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    guard entries[key]?.version == version else { return false }
    layers.markSettled(id, for: key)
    return save(changed: changed, for: key, version: version, completion: completion)
  }

  /// Notes that a change which the server has made is not in what is kept for a key, unless that was written meanwhile:
  /// nor may it be in what is being asked for. Says whether it did.
  mutating func outdateFetch(_ key: Key, version: UInt64) -> Bool {
    guard let entry = entries[key], entry.version == version else { return false }
    entry.fetch?.mayBeOutdated = true
    return true
  }

  private mutating func publishAll(of layer: Layer<Key, Value>) {
    for key in layer.key.map({ [$0] }) ?? Array(entries.keys) where layer.concerns(key) { publish(key) }
  }
}
