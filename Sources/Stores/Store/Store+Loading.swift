import SystemBase
/// How a value gets from the source of truth into memory: when a read needs it, and when others have changed it.
extension Store {
  /// Loads a key's value from the source of truth, if that is not done yet. The key must be acquired. Returns where the
  /// value comes from; `nil` if reading failed, or the source is asynchronous and its value is not in memory.
  @discardableResult
  func load(_ key: Key) -> SnapshotSource? {
    if storage.isMemory { return .memory }
    let unloaded = perform { state -> UInt64? in
      state.isLoaded(key) ? nil : state.entries[key]?.version
    }
    guard let version = unloaded else { return .memory }
    guard let queue = storage.queue else { return nil }
    return install(queue.read(key), for: key, version: version)
  }

  /// Loads a key's value from either source of truth, and calls back at once, or when an asynchronous one has answered.
  /// Several reads of a key share one.
  func load(_ key: Key, then completion: @escaping @Sendable (SnapshotSource?) -> Void) {
    guard let shared = storage.shared else { return completion(load(key)) }
    let (isLoaded, version) = perform { state -> (Bool, UInt64?) in
      guard let entry = state.entries[key], !entry.isLoaded else { return (true, nil) }
      entry.loading = (entry.loading ?? []) + [completion]
      if entry.loading?.count != 1 { return (false, nil) }
      // Until the value is loaded, even if no reader waits any more.
      state.acquire(key)
      return (false, entry.version)
    }
    if isLoaded { return completion(.memory) }
    guard let version else { return }
    shared.read(key) { reading in
      let source = self.install(reading, for: key, version: version)
      let completions = self.perform { state in state.entries[key].flatMap { exchange(&$0.loading, with: nil) } ?? [] }
      // Each for itself: a reader that stalls delays no other.
      let actions = completions.map { completion in EffectRunner.Action(mayStall: true) { completion(source) } }
      self.runner.run(actions + [EffectRunner.Action(mayStall: false) { self.perform { $0.release(key) } }])
    }
  }

  private func install(
    _ reading: StorageReading<Value>, for key: Key, version: UInt64
  ) -> SnapshotSource? {
    if case .failed = reading {
      perform { $0.noteUnreadable(key, version: version) }
      return nil
    }
    let cached = cachedValue(reading)
    return perform { $0.install(loaded: cached, for: key, version: version) } ? .disk : .memory
  }

  private func cachedValue(_ reading: StorageReading<Value>) -> CachedValue<Value>? {
    guard case .found(let stored) = reading else { return nil }
    return CachedValue(stored, cost: configuration.cost(stored.value))
  }
}

/// Changes that others have made in an asynchronous source of truth.
extension Store {
  func follow(_ change: SourceChange<Key>) {
    switch change {
    case .key(let key):
      storage.shared?.clearSuspicion(of: key)
      follow(key)
    case .all:
      let keys = perform { state in Set(Array(state.memory.keys) + Array(state.entries.keys)) }
      // What is not in the source yet is newer than what it has, unless the source says otherwise when it gets that.
      let unwritten = keys.filter { storage.shared?.pending($0) != nil }
      // What could not be written while the source was away.
      storage.shared?.beginAll()
      for key in keys where !unwritten.contains(key) || perform({ $0.entries[key] != nil }) { follow(key) }
    }
  }

  /// Takes notice of what the source has done with a change of this store; returns a new version, if it needs one.
  func follow(_ notice: SharedQueue<Key, Value>.Notice, of key: Key) -> EntryVersion? {
    switch notice {
    case .renamed(let old, let greater): return perform { $0.rename(old, after: greater, of: key) }
    case .superseded(let version):
      perform { $0.noteSuperseded(version, of: key) }
      follow(key)
      return nil
    }
  }

  /// Reads the value of a key in use again; that of another key is only dropped from memory.
  private func follow(_ key: Key) {
    let begins = perform { state -> Bool in
      guard let entry = state.entries[key] else {
        // What is not in the source yet is newer than what it has.
        if storage.shared?.pending(key) == nil { state.forget(key) }
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
    guard let shared = storage.shared else { return }
    // What this store has written is read back as long as it is not done; others may have written after it.
    shared.settle(key) { isDone in
      // What the source does not take for now is newer than what it has.
      if !isDone { return self.perform { $0.endFollowing(key) } }
      let version = self.perform { $0.entries[key]?.version ?? 0 }
      shared.read(key) { reading in
        let isFailed = if case .failed = reading { true } else { false }
        let changed = self.cachedValue(reading)
        let steps = Steps<Key, Value>()
        let isRepeated = self.perform(in: steps) { state -> Bool in
          guard let entry = state.entries[key] else { return false }
          // The store itself has written meanwhile.
          let isSuperseded = !isFailed && entry.version != version && state.ending == nil
          if isFailed { state.markOutdated(key) } else if !isSuperseded { state.adopt(changed, for: key) }
          if !entry.following.isRepeated, !isSuperseded {
            state.endFollowing(key)
            return false
          }
          entry.following = (true, false)
          return true
        }
        // Before watchers are notified, which may stall.
        if isRepeated { self.readChange(of: key) }
        self.end(steps)
      }
    }
  }
}

extension StoreState {
  /// Drops what memory has for a key that is not in use.
  mutating func forget(_ key: Key) { discard(memory.remove(key)) }

  mutating func endFollowing(_ key: Key) {
    entries[key]?.following = (false, false)
    release(key)
  }

  /// Records that the source of truth did not take a value: whatever it has stands in its place.
  mutating func noteSuperseded(_ version: EntryVersion, of key: Key) {
    if entries[key]?.cached?.version == version { entries[key]?.cached?.version = .zero }
    memory.modify(key) { if $0.version == version { $0.version = .zero } }
  }

  /// Marks what memory has for a key as out of date: others have changed it, and it is unknown to what.
  mutating func markOutdated(_ key: Key) {
    if let entry = entries[key], !entry.isLoaded { entry.isInvalidatedWhileLoading = true }
    guard ending == nil, var cached = entries[key]?.cached, !cached.isInvalidated else { return }
    cached.isInvalidated = true
    entries[key]?.cached = cached
    memory.modify(key) { $0.isInvalidated = true }
    if !refetch(key) { publish(key) }
  }

  /// Takes over what others have written, or removed if `nil`, and notifies the watchers, unless it is there already.
  mutating func adopt(_ changed: CachedValue<Value>?, for key: Key) {
    guard ending == nil, let entry = entries[key] else { return }
    guard let changed = changed.map({ see($0) }) else {
      let hadValue = entry.cached != nil
      discard(memory.remove(key))
      // Even if there was none: what was requested, or is being loaded, is older than the removal.
      empty(key)
      if hadValue { publish(key) }
      return
    }
    if let cached = entry.cached, !cached.isPartial, !isNews(changed, after: cached) { return }
    // What is hidden keeps no response from being shown to which the server accepts the account again.
    let accepted = refusedAt.flatMap { refusedAt in entry.fetches.first { $0.id > refusedAt } }
    cache(changed, for: key, requestedAt: accepted?.id, isForeign: true)
    if changed.isInvalidated {
      let number = nextNumber()
      discard(writes.log(key, at: number) { $0.invalidatedAt = number })
    }
    if !changed.isInvalidated || !refetch(key) { publish(key, source: .disk) }
  }

  /// A source that reports an older value than was there is late, or has lost the newer one.
  private func isNews(_ changed: CachedValue<Value>, after cached: CachedValue<Value>) -> Bool {
    if changed.version == cached.version {
      return changed.isInvalidated != cached.isInvalidated || changed.writtenAt != cached.writtenAt
    }
    // A source without versions.
    if changed.version == .zero { return changed.writtenAt != cached.writtenAt || changed.isInvalidated }
    return changed.version > cached.version
  }
}
