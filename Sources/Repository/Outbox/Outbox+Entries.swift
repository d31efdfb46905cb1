import Streams

extension Outbox {
  /// The names of all unfinished entries, oldest first.
  func names() throws -> [OutboxFileName] {
    let names = try folder.names()
    let over = state.withLock { $0.over }
    return over.isEmpty ? names : names.filter { !over.contains($0) }
  }

  /// Reads what is on disk, and notifies observers of what other processes have added, removed, or queued again;
  /// returns the names of the waiting entries, oldest first; among them are those that cannot be read because of an
  /// error of the system, since they may wait.
  func look() throws -> [OutboxFileName] {
    for name in state.withLock({ $0.over }) {
      if (try? folder.remove(name)) != nil { state.withLock { _ = $0.over.remove(name) } }
    }
    // A known entry that is not on disk now has been removed.
    let known = state.withLock { $0.known }
    let names = try names()
    for name in Set(known.names).subtracting(names) { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    // Entries that are just being added are skipped: they get a turn of their own.
    let arriving = state.withLock { state in
      state.unreadable = []
      return state.arriving
    }
    return try names.filter { name in
      if arriving.contains(name.id) { return false }
      do {
        return try known[name]?.isWaiting == true || reread(name) != nil
      } catch let error as FileError where error.isOfOneFile {
        return true
      }
    }
  }

  /// Reads an entry again, which another process may have changed or removed, and records its state; returns it if it
  /// waits. One that is damaged is passed over; one that cannot be read because of an error of the system is an error,
  /// since later ones must not overtake it.
  /// - Parameter isToBeSent: Whether to wait until it is certain that its adding has not failed.
  func reread(_ name: OutboxFileName, isToBeSent: Bool = false) throws -> Entry? {
    let content = try isToBeSent ? folder.settledContent(name) : folder.content(name)
    if case .entry(let entry)? = content {
      note(entry)
      return entry.isWaiting ? entry : nil
    }
    if case .unreadable(let entry)? = content { state.withLock { $0.unreadable.append(entry) } }
    if let known = state.withLock({ $0.known[name] }) { forget(known, .withdrawn(known)) }
    return nil
  }

  /// Changes an entry on disk; returns `nil` if it has been removed meanwhile.
  func change(_ name: OutboxFileName, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry? {
    let update = { @Sendable (entry: inout Entry) in
      change(&entry)
      return true
    }
    guard let changed = try await onQueue({ try self.folder.update(name, update) }) else { return nil }
    let old = state.withLock { state in
      state.known[name] == nil ? nil : state.known.replace(name, with: changed)
    }
    // Released here, outside the lock.
    _ = old
    return changed
  }

  /// Records an entry as it is on disk, and notifies observers if it is new here, or no longer waits.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.replace(entry.name, with: entry) }
    let (waited, waits) = (old?.isWaiting ?? false, entry.isWaiting)
    if waits, !waited { notices.onNext(.change(.added(entry)) {}) }
    if waited, !waits { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Ends the arrival of an entry, after observers were told that it was added. If it has been removed meanwhile, it is
  /// withdrawn once more: observers may have heard of the removal first.
  func endArrival(of entry: Entry) {
    let isGone = state.withLock { state in
      state.arriving.remove(entry.id)
      return state.known[entry.name] == nil
    }
    if isGone { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Removes a finished entry and notifies observers. If it cannot be removed, returns the error; the entry is not sent
  /// again in any case.
  @discardableResult
  func end(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void
  ) -> (any Error)? {
    let removal = Result { try folder.remove(entry.name) }
    if case .failure = removal { state.withLock { _ = $0.over.insert(entry.name) } }
    forget(entry, change, then: completion)
    return if case .failure(let error) = removal { error } else { nil }
  }

  /// Forgets an entry that is no longer on disk, and notifies observers of what became of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void = {}
  ) {
    let old = state.withLock { $0.known.replace(entry.name, with: nil) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }
}
