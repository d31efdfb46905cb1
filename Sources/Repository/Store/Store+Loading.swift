/// How a value gets from the source of truth into memory: when a read needs it, and when others have changed it.
extension Store {
  /// Loads a key's value from the source of truth, if that is not done yet. The key must be acquired. Returns where the
  /// value comes from; `nil` if reading failed, or the source is asynchronous and its value is not in memory.
  @discardableResult
  func load(_ key: Key) -> SnapshotSource? {
    guard let storage else { return .memory }
    let unloaded = perform { state -> UInt64? in
      state.isLoaded(key) ? nil : state.entries[key]?.version
    }
    guard let version = unloaded else { return .memory }
    if storage.shared != nil { return nil }
    return install(storage.read(key), for: key, version: version)
  }

  /// The same for either source, at once or when an asynchronous one has answered. Several reads of a key share one.
  func load(_ key: Key, then completion: @escaping @Sendable (SnapshotSource?) -> Void) {
    guard let storage, storage.shared != nil else { return completion(load(key)) }
    let (isLoaded, version) = perform { state -> (Bool, UInt64?) in
      guard let entry = state.entries[key], !entry.isLoaded else { return (true, nil) }
      entry.loading = (entry.loading ?? []) + [completion]
      if entry.loading?.count != 1 { return (false, nil) }
      // Until the value is loaded, whoever waits for it.
      state.acquire(key)
      return (false, entry.version)
    }
    if isLoaded { return completion(.memory) }
    guard let version else { return }
    storage.read(key) { reading in
      let source = self.install(reading, for: key, version: version)
      let completions = self.perform { state in state.entries[key].flatMap { exchange(&$0.loading, with: nil) } ?? [] }
      for completion in completions { completion(source) }
      self.perform { $0.release(key) }
    }
  }

  private func install(
    _ reading: StorageQueue<Key, Value>.Reading, for key: Key, version: UInt64
  ) -> SnapshotSource? {
    let cached = cachedValue(reading)
    let isInstalled = perform { $0.install(loaded: cached, for: key, version: version) }
    if case .failed = reading { return nil }
    return isInstalled ? .disk : .memory
  }

  private func cachedValue(_ reading: StorageQueue<Key, Value>.Reading) -> CachedValue<Value>? {
    guard case .found(let stored) = reading else { return nil }
    return CachedValue(stored, cost: configuration.cost(stored.value))
  }
}

/// Changes that others have made in an asynchronous source of truth.
extension Store {
  func follow(_ change: SourceChange<Key>) {
    switch change {
    case .key(let key):
      storage?.trust(key)
      follow(key)
    case .all:
      let keys = perform { state in Set(Array(state.memory.keys) + Array(state.entries.keys)) }
      for key in keys {
        // What could not be written while the source was away is newer than what it has.
        if storage?.isOutdated(key) == true, perform({ $0.writeAgain(key) }) { continue }
        follow(key)
      }
    }
  }

  /// Reads the value of a key in use again; that of another key is only dropped from memory.
  private func follow(_ key: Key) {
    let begins = perform { state -> Bool in
      guard let entry = state.entries[key] else {
        state.forget(key)
        return false
      }
      if entry.following.isRunning {
        entry.following.isRepeated = true
        return false
      }
      entry.following = (true, false)
      state.acquire(key)
      return true
    }
    if begins { readChange(of: key) }
  }

  private func readChange(of key: Key) {
    guard let storage else { return }
    // A write of this store is read back as long as it is not done; others may have written after it.
    if storage.isPending(key) { return storage.flush { self.readChange(of: key) } }
    let version = perform { $0.entries[key]?.version ?? 0 }
    storage.read(key) { reading in
      let isFailed = if case .failed = reading { true } else { false }
      let changed = self.cachedValue(reading)
      let isRepeated = self.perform { state -> Bool in
        guard let entry = state.entries[key] else { return false }
        // The store itself has written meanwhile.
        let isSuperseded = !isFailed && entry.version != version && state.ending == nil
        if isFailed { state.doubtCached(key) } else if !isSuperseded { state.adopt(changed, for: key) }
        let isRepeated = entry.following.isRepeated || isSuperseded
        entry.following = (isRepeated, false)
        if !isRepeated { state.release(key) }
        return isRepeated
      }
      if isRepeated { self.readChange(of: key) }
    }
  }
}

extension StoreState {
  /// Drops what memory has for a key that is not in use.
  mutating func forget(_ key: Key) { discard(memory.remove(key)) }

  /// Lets what memory has for a key count as out of date: others have changed it, and it is unknown to what.
  mutating func doubtCached(_ key: Key) {
    guard ending == nil, var cached = entries[key]?.cached, !cached.isInvalidated else { return }
    cached.isInvalidated = true
    entries[key]?.cached = cached
    memory.modify(key) { $0.isInvalidated = true }
    if !refetch(key) { publish(key) }
  }

  /// Takes over what others have written, or removed if `nil`, and notifies the watchers, unless it is there already.
  mutating func adopt(_ changed: CachedValue<Value>?, for key: Key) {
    guard ending == nil, let entry = entries[key] else { return }
    guard let changed else {
      if entry.cached == nil { return }
      discard(memory.remove(key))
      empty(key)
      return publish(key)
    }
    let isKnown = entry.cached.map {
      $0.writtenAt == changed.writtenAt && $0.isInvalidated == changed.isInvalidated && !$0.isPartial
    }
    if isKnown == true { return }
    cache(changed, for: key, isForeign: true)
    if changed.isInvalidated {
      let number = nextNumber()
      discard(writes.log(key, at: number) { $0.invalidatedAt = number })
    }
    if !changed.isInvalidated || !refetch(key) { publish(key, source: .disk) }
  }

  /// Writes what memory has for a key to the source of truth again; returns whether it has something.
  mutating func writeAgain(_ key: Key) -> Bool {
    guard let cached = entries[key]?.cached ?? memory.peek(key), !cached.isPartial else { return false }
    write(cached, for: key)
    return true
  }
}
