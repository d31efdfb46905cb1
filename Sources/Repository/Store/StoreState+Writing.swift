import Streams

extension StoreState {
  /// Keeps a value, and tells who watches; an answer to a request that began before does not take its place.
  mutating func save(_ kept: CachedValue<Value>, for key: Key, completion: @escaping @Sendable ((any Error)?) -> Void) {
    if isSignedOut { return effects.append(.call { completion(StoreError.signedOut) }) }
    entries[key]?.fetch?.isSuperseded = true
    keep(kept, for: key)
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
    save(kept, for: key, completion: completion)
    return true
  }

  /// Marks a value as out of date, and asks anew for those who watch it.
  mutating func invalidate(_ key: Key) {
    guard !isSignedOut else { return }
    entries[key]?.fetch?.wasInvalidated = true
    if var kept = entries[key]?.kept {
      let wasInvalidated = kept.isInvalidated
      (kept.isInvalidated, kept.invalidation) = (true, nextNumber())
      entries[key]?.kept = kept
      memory.modify(key) { [kept] in
        ($0.isInvalidated, $0.invalidation) = (kept.isInvalidated, kept.invalidation)
      }
      if !wasInvalidated { write(kept, for: key) }
    }
    if !refetch(key) { publish(key) }
  }

  mutating func remove(_ key: Key) {
    guard !isSignedOut else { return }
    forget(key)
    publish(key)
  }

  /// Removes everything; requests under way go on.
  mutating func removeAll() {
    // What is there now may be another store's, which was opened after this one was signed out.
    guard !isSignedOut else { return }
    garbage += memory.removeAll() as [Any]
    store(.removeAll)
    for key in Array(entries.keys) {
      garbage.append(entries[key]?.kept as Any)
      entries[key]?.kept = nil
      let number = nextNumber()
      entries[key]?.version = number
      entries[key]?.isLoaded = true
      publish(key)
    }
  }

  /// Ends everything: requests are cancelled, late answers find nobody, and nothing is kept or shown any more.
  mutating func signOut() {
    guard !isSignedOut else { return }
    garbage.append((layers, written))
    (layers, written) = ([], [:])
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
    layers.append(layer)
    publishAll(of: layer)
  }

  /// Takes a layer away: what it had changed is shown as it is kept.
  mutating func removeLayer(_ id: UInt64) {
    guard let place = layers.firstIndex(where: { $0.id == id }) else { return }
    let layer = layers.remove(at: place)
    garbage.append(layer)
    if layers.allSatisfy(\.isInOrder) { garbage.append(exchange(&written, with: [:])) }
    publishAll(of: layer)
  }

  /// Whether what is kept for a key may be newer than the server's answer to the change of a layer.
  func isOvertaken(_ layer: Layer<Key, Value>, for key: Key) -> Bool {
    layer.canBeOvertaken(in: key) && written[key].map { $0 > layer.id } ?? false
  }

  /// In one step: what the server made of a change is kept, and the change is no longer shown over it.
  mutating func settle(
    _ id: UInt64, kept: CachedValue<Value>, for key: Key, completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    markSettled(id, for: key)
    save(kept, for: key, completion: completion)
  }

  /// The same for another key whose kept value the change was made in, unless that was written meanwhile.
  mutating func settle(
    _ id: UInt64, changed: CachedValue<Value>, for key: Key, version: UInt64,
    completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    guard entries[key]?.version == version else { return false }
    markSettled(id, for: key)
    return save(changed: changed, for: key, version: version, completion: completion)
  }

  /// Notes that a change which the server has made is not in what is kept for a key, unless that was written meanwhile:
  /// nor may it be in what is being asked for. Says whether it did.
  mutating func outdateFetch(_ key: Key, version: UInt64) -> Bool {
    guard let entry = entries[key], entry.version == version else { return false }
    entry.fetch?.wasInvalidated = true
    return true
  }

  private mutating func markSettled(_ id: UInt64, for key: Key) {
    if let place = layers.firstIndex(where: { $0.id == id }) { layers[place].settled.insert(key) }
  }

  private mutating func publishAll(of layer: Layer<Key, Value>) {
    for key in Array(entries.keys) where layer.concerns(key) { publish(key) }
  }
}
