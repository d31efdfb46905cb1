import Streams
import SystemBase

/// Reading, with what is not done yet.
extension SharedQueue {
  /// What the source has for a key, once all work is done. Calls back on this thread if that is known; else when the source
  /// has returned the value, or has not within its limit, on a thread that may block: readers and watchers may stall.
  func read(_ key: Key, then completion: @escaping @Sendable (StorageReading<Value>) -> Void) {
    // Before it is read: what is read may have been removed when that ends.
    let (wasOutOfDate, remains) = (isOutOfDate(key), account.remains)
    if let pending = pending(key) { return completion(pending) }
    let waiting = Locked<(@Sendable (StorageReading<Value>) -> Void)?>(completion)
    let end: @Sendable (StorageReading<Value>) -> Void = { reading in
      guard let completion = waiting.withLock({ exchange(&$0, with: nil) }) else { return }
      _ = ElasticScheduler().schedule { completion(reading) }
    }
    let task = Task {
      do {
        let stored = try await truth.read(key)
        end(self.pending(key) ?? self.result(stored, of: key, wasOutOfDate: wasOutOfDate, remains))
      } catch {
        self.onError(error)
        end(.failed)
      }
    }
    // The value counts as missing even if the source ignores that it is cancelled.
    let timer = scheduler.schedule(after: truth.timeLimit) {
      task.cancel()
      end(.failed)
    }
    Task {
      await task.value
      timer.dispose()
    }
  }

  /// What a read returns because of work that is not done; `nil` if the source has to be asked.
  func pending(_ key: Key) -> StorageReading<Value>? {
    let isEmptied = account.remains == .everything
    return state.withLock { state in
      let isMissing = isEmptied || state.removal != nil
      guard let line = state.lines[key] else { return isMissing ? .missing : nil }
      var isInvalidated = false
      // What runs has begun before a removal of everything, which waits for it.
      for job in [line.waiting, state.removal == nil ? line.running : nil] {
        switch job?.work {
        case .write(var stored, _, _)?:
          stored.isInvalidated = stored.isInvalidated || isInvalidated
          return .found(stored)
        case .remove?: return .missing
        case .invalidate?: isInvalidated = true
        case nil: break
        }
      }
      return isMissing ? .missing : nil
    }
  }

  private func isOutOfDate(_ key: Key) -> Bool {
    state.withLock { $0.suspicions.contains(key) || $0.lines[key] != nil }
  }

  /// What the source had for a key. An invalidation that is made while it is read may not be in that.
  /// - Parameter remains: What earlier sessions may have had in the source before it was read.
  private func result(
    _ stored: StoredValue<Value>?, of key: Key, wasOutOfDate: Bool, _ remains: SharedAccount.Remains
  ) -> StorageReading<Value> {
    guard var stored else { return .missing }
    switch remains {
    case .nothing: break
    case .older(let version): if stored.version < version { return .missing }
    case .everything: return .missing
    }
    if wasOutOfDate || isOutOfDate(key) { stored.isInvalidated = true }
    return .found(stored)
  }

  /// Lets what the source has for a key count as out of date until it is replaced.
  func suspect(_ key: Key) { state.withLock { $0.suspicions.insert(key) } }

  /// Ends the suspicion about a key that others have changed.
  func clearSuspicion(of key: Key) { state.withLock { $0.suspicions.remove(key) } }

  /// The keys that the source has, within its limit; none if it cannot say. Then what it has is out of date for this
  /// process. Calls back on a thread that may block.
  func keys(then completion: @escaping @Sendable (Set<Key>) -> Void) {
    let waiting = Locked<(@Sendable (Set<Key>) -> Void)?>(completion)
    let end: @Sendable (Set<Key>?) -> Void = { keys in
      guard let completion = waiting.withLock({ exchange(&$0, with: nil) }) else { return }
      if keys == nil { self.state.withLock { $0.suspicions.insertAll() } }
      _ = ElasticScheduler().schedule { completion(keys ?? []) }
    }
    let task = Task {
      do { end(Set(try await truth.keys())) } catch {
        onError(error)
        end(nil)
      }
    }
    let timer = scheduler.schedule(after: truth.timeLimit) {
      task.cancel()
      end(nil)
    }
    Task {
      await task.value
      timer.dispose()
    }
  }
}

/// What a source of truth has for a key.
enum StorageReading<Value: Sendable>: Sendable {
  case found(StoredValue<Value>)
  case missing
  /// It could not be read, which was reported.
  case failed
}
