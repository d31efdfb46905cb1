extension Store {
  /// Keeps a value, and tells who watches the key. Where the configuration writes through, the value is in the source
  /// of truth when this returns, or could not be written: then ``StoreConfiguration/onStorageError`` was told why.
  public func save(_ value: Value, for key: Key) {
    let kept = makeCachedValue(value)
    perform { $0.save(kept, for: key) { _ in } }
  }

  /// Changes the value of a key, if there is one. The closure may be called more than once, so that no other write can
  /// come between its reading and its writing. The response to a request under way may lack the change; watchers then
  /// get the response to a new request.
  public func update(_ key: Key, _ change: (inout Value) throws -> Void) rethrows {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    _ = load(key)
    while true {
      let now = clock.now
      let (current, version) = perform { ($0.current(key, now: now), $0.entries[key]?.version ?? 0) }
      guard let current else { return }
      var value = current.value
      try change(&value)
      // The age is the server's: a change on this side makes nothing newer.
      let kept = changed(current, to: value)
      let isDone = perform { state in
        state.save(changed: kept, for: key, version: version) { _ in }
      }
      if isDone { return }
    }
  }

  func changed(_ kept: CachedValue<Value>, to value: Value) -> CachedValue<Value> {
    var changed = kept
    changed.value = value
    changed.cost = configuration.cost(value)
    return changed
  }

  /// Says that what is kept for a key is out of date: it is stale from now on, also after a restart, and those who
  /// watch it by a policy that asks the network get a new answer.
  public func invalidate(_ key: Key) {
    perform { $0.acquire(key) }
    _ = load(key)
    perform {
      $0.invalidate(key)
      $0.release(key)
    }
  }

  /// Removes what is kept for a key; those who watch it are shown that there is nothing.
  public func remove(_ key: Key) { perform { $0.remove(key) } }

  /// Removes everything, also from the source of truth, where nothing is left when this returns. Requests under way go
  /// on.
  public func clear() { perform { $0.removeAll() } }

  /// Ends the store because its account ends: everything it has kept is removed, as by ``clear()``, its requests are
  /// cancelled, a late answer is dropped, and whoever watches is shown nothing. Reads fail with ``StoreError/signedOut``
  /// from then on. Mutations under way are not cancelled, and fail when they are answered.
  ///
  /// To let go of a store and leave what it has kept, call only ``flush()``.
  public func signOut() { perform { $0.signOut() } }

  /// Returns when all that was written before is in the source of truth, or has failed to get there.
  public func flush() async {
    guard let storage else { return }
    await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
  }
}
