import Streams
import SystemBase

extension Store {
  /// Caches a value and notifies the key's watchers. When this returns, the value, or a newer one, is in the source of
  /// truth, unless ``StoreConfiguration/writing`` is `behind`; no thread waits for that. If the write fails,
  /// ``StoreConfiguration/onStorageError`` is called, and the value is in memory alone.
  public func save(_ value: Value, for key: Key) async {
    let cached = makeCachedValue(value)
    await written { steps, written in
      self.perform(in: steps) { $0.save(cached, for: key, isAsynchronous: true, completion: written) }
    }
  }

  /// Caches a value on a thread, such as that of a stream's subscriber. A synchronous source of truth blocks it: a
  /// ``DiskCache`` waits ten seconds at most for another process that is stopped. An asynchronous one gets the value
  /// later; ``flush()`` waits for that.
  public func save(_ value: Value, for key: Key) {
    let cached = makeCachedValue(value)
    perform { $0.save(cached, for: key) }
  }

  /// Changes the value of a key, if there is one. The closure may be called more than once: if another write comes
  /// between, the change is made again to the new value. The response to a request in flight may lack the change;
  /// watchers then get the response to a new request. Returns as `save(_:for:)` does.
  ///
  /// Of changes that several processes make to an asynchronous source of truth at the same time, one replaces the
  /// other: send those to the server.
  public func update(_ key: Key, _ change: (inout Value) throws -> Void) async rethrows {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    await loaded(key)
    try await written { steps, written in
      try self.update(key, isAsynchronous: true, change, in: steps, written)
    }
  }

  /// Changes a value on a thread, which a synchronous source of truth blocks. With an asynchronous one, a value that is
  /// not in memory is invalidated instead.
  public func update(_ key: Key, _ change: (inout Value) throws -> Void) rethrows {
    try update(key, isAsynchronous: false, change) { _ in }
  }

  private func update(
    _ key: Key, isAsynchronous: Bool, _ change: (inout Value) throws -> Void, in steps: Steps<Key, Value>? = nil,
    _ completion: @escaping WriteCompletion
  ) rethrows {
    let writes = WriteGroup(then: completion)
    defer { writes.close() }
    let written = writes.add()
    try rebase(key, writes, in: steps) { cached in
      var value = cached.value
      try change(&value)
      return value
    } commit: { state, changed, version in
      guard let changed else {
        state.effects.append(.complete(written, nil))
        return true
      }
      return state.save(
        changed: changed, for: key, version: version, isAsynchronous: isAsynchronous, completion: written)
    }
  }

  /// Changes every cached value that meets a condition: each is written, and shown to its watchers, once. As with
  /// `update(_:_:)`, a response to a request in flight may lack the change; watchers then get the response to a new one.
  ///
  ///     users.updateAll { id, user in user.team == team ? user.moved(to: other) : nil }
  ///
  /// Values that are not in memory are read from the source of truth, but for those of keys that the condition excludes;
  /// what only an asynchronous source has is invalidated.
  /// - Parameters:
  ///   - isAffected: Whether the value of a key may be changed. Called on any thread, without a lock.
  ///   - change: The changed value of a key; `nil` leaves it as it is, and nobody is notified. It may be called more
  ///     than once.
  public func updateAll(
    where isAffected: @escaping @Sendable (Key) -> Bool = { _ in true },
    _ change: @escaping @Sendable (Key, Value) -> Value?
  ) async {
    await withCheckedContinuation { continuation in
      // It may read many files.
      _ = ElasticScheduler().schedule { [self] in
        let writes = WriteGroup { _ in continuation.resume() }
        let known = knownKeys()
        // All are changed before a watcher is notified, which may stall.
        let (step, notifications) = (Steps<Key, Value>(), Steps<Key, Value>())
        for key in known where isAffected(key) {
          let written = writes.add()
          rebase(key, writes, in: step) {
            change(key, $0.value)
          } commit: { state, changed, version in
            if let changed {
              return state.save(changed: changed, for: key, version: version, isAsynchronous: true, completion: written)
            }
            state.effects.append(.complete(written, nil))
            return true
          }
          endUnstalled(step, leaving: notifications)
        }
        invalidateShared(except: known, where: isAffected, writes)
        // Watchers have been notified when this returns, but for those that stall.
        endElsewhere(notifications)
        writes.close()
      }
    }
  }

  /// Makes a change in steps for a task, and returns when that has called back; throws what the body throws. Watchers and
  /// readers may stall: they are called on another thread, and not waited for once they do.
  func written(_ body: (Steps<Key, Value>, @escaping WriteCompletion) throws -> Void) async rethrows {
    let (steps, signal) = (Steps<Key, Value>(), Signal())
    do { try body(steps) { _ in signal.send() } } catch {
      await endElsewhere(steps)
      throw error
    }
    await endElsewhere(steps)
    await signal.wait()
  }

  /// Loads the value of a key that was acquired, on another thread if that has to read a file.
  func loaded(_ key: Key) async {
    if perform({ $0.isLoaded(key) }) { return }
    await withCheckedContinuation { continuation in
      guard storage.shared == nil else { return load(key) { _ in continuation.resume() } }
      _ = ElasticScheduler().schedule {
        self.load(key)
        continuation.resume()
      }
    }
  }

  /// Marks the cached value of a key as out of date: it is stale from now on, also after a restart and for other
  /// processes of the source of truth, and a new request is made for watchers whose policy uses the network and caches
  /// the response. Returns as `save(_:for:)` does. If another process has the files' lock for too long, this process
  /// shows the value as stale, and marks it as soon as the lock is free.
  public func invalidate(_ key: Key) async {
    await written { steps, written in self.perform(in: steps) { $0.invalidate(key, completion: written) } }
  }

  /// Marks a value on a thread: it is stale when this returns, and the source of truth gets the mark as soon as it can.
  /// Does not wait for other processes.
  public func invalidate(_ key: Key) { perform { $0.invalidate(key) } }

  func invalidate(_ key: Key, completion: @escaping WriteCompletion) {
    perform { $0.invalidate(key, completion: completion) }
  }

  /// Invalidates every key with a cached value or a watcher, as `invalidate(_:)` does, or those of them that meet a
  /// condition: after a mutation, for example, that may have changed the result of any search. Values that are not in
  /// memory are read from the source of truth and written again, so this takes time in proportion to their number, and
  /// makes them the most recent ones for limits of the source of truth. What only an asynchronous source has is marked
  /// there as soon as it has said which keys that are.
  /// - Parameter isAffected: Called on any thread, without a lock.
  public func invalidateAll(where isAffected: @escaping @Sendable (Key) -> Bool = { _ in true }) async {
    await withCheckedContinuation { continuation in
      // It may read many files, and watchers may stall.
      _ = ElasticScheduler().schedule { self.invalidateAll(where: isAffected) { _ in continuation.resume() } }
    }
  }

  /// Marks values on a thread: they are stale when this returns, and the source of truth gets the marks as soon as it
  /// can.
  public func invalidateAll(where isAffected: @escaping @Sendable (Key) -> Bool = { _ in true }) {
    invalidateAll(where: isAffected) { _ in }
  }

  private func invalidateAll(
    where isAffected: @escaping @Sendable (Key) -> Bool, completion: @escaping WriteCompletion
  ) {
    let writes = WriteGroup(then: completion)
    let known = knownKeys()
    let affected = known.filter(isAffected)
    // All are stale before the first is written, and before a watcher is notified, which may stall.
    let steps = Steps<Key, Value>()
    perform(in: steps) { state in for key in affected { state.invalidate(key, completion: writes.add()) } }
    invalidateShared(except: known, where: isAffected, writes)
    endElsewhere(steps)
    writes.close()
  }

  /// Marks what only an asynchronous source of truth has.
  private func invalidateShared(
    except known: Set<Key>, where isAffected: @escaping @Sendable (Key) -> Bool, _ writes: WriteGroup
  ) {
    guard let shared = storage.shared else { return }
    let listed = writes.add()
    shared.keys { keys in
      let affected = keys.subtracting(known).filter(isAffected)
      let steps = Steps<Key, Value>()
      self.perform(in: steps) { state in for key in affected { state.invalidate(key, completion: writes.add()) } }
      self.endElsewhere(steps)
      listed(nil)
    }
  }

  /// Every key that has a value in memory or in the source of truth, also one that another process has written there,
  /// or is in use. If the source of truth cannot say, what it has is out of date from now on.
  func knownKeys() -> Set<Key> {
    let keys = Set(perform { Array($0.entries.keys) + Array($0.memory.keys) })
    return storage.queue.map { keys.union($0.keys()) } ?? keys
  }

  /// Removes the cached value of a key; its watchers get a snapshot without a value. Returns as `save(_:for:)` does.
  public func remove(_ key: Key) async {
    await written { steps, written in self.perform(in: steps) { $0.remove(key, completion: written) } }
  }

  /// Removes a value on a thread: it is gone when this returns, and the source of truth removes it as soon as it can.
  /// Does not wait for other processes.
  public func remove(_ key: Key) { perform { $0.remove(key) } }

  /// Removes everything, from memory and, before this returns, from the source of truth; no thread waits for that.
  /// Requests in flight continue. Throws the source of truth's error if it could not remove everything.
  public func clear() async throws { try await removed { $0.removeAll(then: $1) } }

  /// Ends the store because its account ends: everything it has kept is removed, as by ``clear()``, its requests are
  /// cancelled, late responses are dropped, and streams complete, after a snapshot without a value. From then on, reads
  /// fail with ``StoreError/signedOut``. Mutations in flight are not cancelled, and fail when their response comes.
  ///
  /// So end all other stores that have opened the same source of truth, in this process, and over a ``DiskCache`` also
  /// in others, as soon as they write.
  ///
  /// Throws the source of truth's error if it could not remove everything; another call tries again. To stop using a
  /// store but keep its data, call ``close()``.
  public func signOut() async throws {
    // Before the removal gets its version: they write no more.
    let others = storage.shared?.signOut() ?? SharedAccount.Ended()
    try await removed { $0.signOut(after: others, then: $1) }
  }

  private func removed(
    _ change: (inout StoreState<Key, Value>, @escaping WriteCompletion) -> Void
  ) async throws {
    let failure = Locked<(any Error)?>(nil)
    await written { steps, written in
      self.perform(in: steps) { state in
        change(&state) { error in
          failure.withLock { $0 = error }
          written(nil)
        }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Ends the store, and keeps its data: streams complete, requests are cancelled, and once all writes are in the
  /// source of truth this returns. From then on, reads fail with ``StoreError/closed``, and writes do nothing. A
  /// mutation in flight is not cancelled, and fails when its response comes, which changes nothing that is cached.
  ///
  /// If an asynchronous source of truth does not take everything, ``StoreConfiguration/onStorageError`` is called with
  /// ``StoreError/unwritten(count:)``; see ``flush()``.
  public func close() async {
    let steps = Steps<Key, Value>()
    perform(in: steps) { $0.close() }
    await endElsewhere(steps)
    if let error = await flush(), storage.shared != nil { configuration.onStorageError(error) }
  }

  /// Returns when all earlier writes are in the source of truth, or have failed. A change that an asynchronous source
  /// of truth does not end, although it was cancelled at its ``AsyncSourceOfTruth/timeLimit``, counts as failed after
  /// twice that time, and so do those of its key that wait behind it. However much there is to write, this
  /// does not wait when the source has taken none of it for twice that time.
  /// - Returns: ``StoreError/unwritten(count:)`` if the source of truth has not got everything; `nil` if it has. What
  ///   is missing is tried again while the process lives, and lost when it ends.
  @discardableResult
  public func flush() async -> StoreError? {
    let count = await withCheckedContinuation { continuation in
      storage.flush { continuation.resume(returning: $0) }
    }
    return count == 0 ? nil : .unwritten(count: count)
  }
}
