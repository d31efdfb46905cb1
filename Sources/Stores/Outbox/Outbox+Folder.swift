import Streams
import SystemBase

/// What an outbox knows of its folder, and how that follows what is on disk.
extension Outbox {
  /// The names of all unfinished entries, oldest first.
  func names() throws -> [OutboxFileName] {
    unfinished(try folder.names())
  }

  private func unfinished(_ names: [OutboxFileName]) -> [OutboxFileName] {
    let finished = finishedEntries.all(of: folder.identity)
    return finished.isEmpty ? names : names.filter { !finished.contains($0) }
  }

  /// Whether a finished entry could not be removed yet.
  var hasFinished: Bool { !finishedEntries.all(of: folder.identity).isEmpty }

  /// Tries once more to remove what is finished: the next process would send it again.
  func removeFinished() {
    for name in finishedEntries.all(of: folder.identity) {
      do {
        try folder.remove(name)
      } catch {
        // Else it has gone with the folder.
        guard let error = error as? FileError, error.isNotFound else { continue }
      }
      finishedEntries.remove(name, of: folder.identity)
    }
  }

  /// Makes what is known agree with what is on disk, and notifies observers of what other processes have added,
  /// removed, or queued again. If only this outbox has changed the folder, it looks only at what could not be read
  /// before.
  ///
  /// Returns whether an entry waits, or may wait, since an error of the system prevents reading it.
  func refresh() throws -> Bool {
    removeFinished()
    let (number, suspects) = state.withLock { state in
      (state.listing, state.unreadable.map { OutboxFileName(addedAt: $0.addedAt, id: $0.id) } + state.unread)
    }
    if try folder.isUnchanged(since: number) {
      try reread(suspects)
    } else {
      try readAll()
    }
    return state.withLock { !$0.known.waiting.isEmpty || !$0.unread.isEmpty }
  }

  private func readAll() throws {
    try folder.checkSignOut()
    state.withLock { $0.listing = nil }
    // A known entry that is not on disk now has been removed.
    let known = state.withLock { $0.known }
    let (all, number) = try folder.listing()
    let names = unfinished(all)
    let arriving = state.withLock { $0.arriving }
    for name in Set(known.names).subtracting(names) { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    // Entries that are just being added are skipped: they get a turn of their own.
    try reread(names.filter { !arriving.contains($0.id) && known[$0]?.isWaiting != true })
    state.withLock { $0.listing = number }
  }

  private func reread(_ names: [OutboxFileName]) throws {
    state.withLock { ($0.unreadable, $0.unread) = ([], []) }
    for name in names.sorted() {
      do {
        _ = try reread(name)
      } catch let error as FileError where error.isOfOneFile {
        state.withLock { $0.unread.insertSorted(name) }
      }
    }
  }

  /// The oldest entry behind another one, or of all, that waits or may wait. Entries that are just being added are
  /// skipped: they get a turn of their own.
  func next(after name: OutboxFileName?) -> OutboxFileName? {
    state.withLock { state in
      var next = name
      repeat {
        next = [state.known.waiting.first(after: next), state.unread.first(after: next)].compactMap { $0 }.min()
      } while next.map { state.arriving.contains($0.id) } == true
      return next
    }
  }

  /// The newest entry that waits or may wait.
  var newest: OutboxFileName? {
    state.withLock { state in [state.known.waiting.last, state.unread.last].compactMap { $0 }.max() }
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
    if case .unreadable(let entry)? = content {
      state.withLock { if !$0.unreadable.contains(entry) { $0.unreadable.append(entry) } }
    }
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
    withExtendedLifetime(old) {}
    return changed
  }

  /// Records an entry as it is on disk, and notifies observers if it is new here, or no longer waits.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.replace(entry.name, with: entry) }
    let (waited, waits) = (old?.isWaiting ?? false, entry.isWaiting)
    if waits, !waited {
      publisher.report(.added(entry))
      state.withLock { $0.onBusy }()
    }
    if waited, !waits { publisher.report(.withdrawn(entry)) }
  }

  /// Ends the arrival of an entry, after observers were notified that it was added. If it has been removed meanwhile,
  /// it is withdrawn once more: observers may have heard of the removal first.
  func endArrival(of entry: Entry) {
    let isGone = state.withLock { state in
      state.arriving.remove(entry.id)
      return state.known[entry.name] == nil
    }
    if isGone { publisher.report(.withdrawn(entry)) }
  }

  /// Removes a finished entry and notifies observers. If it cannot be removed, returns the error; this process does not
  /// send the entry again, and tries to remove it every two seconds. Throws ``OutboxError/signedOut`` instead.
  /// - Parameter forStores: What stores that show the entry learn instead.
  @discardableResult
  func end(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>,
    forStores: OutboxChange<Mutation, Response>? = nil
  ) throws -> (any Error)? {
    var failure: (any Error)?
    do {
      try folder.remove(entry.name)
    } catch OutboxError.signedOut {
      throw OutboxError.signedOut
    } catch {
      finishedEntries.insert(entry.name, of: folder.identity)
      failure = error
    }
    forget(entry, change, forStores: forStores)
    return failure
  }

  /// Forgets an entry that is no longer on disk, and notifies observers of what became of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>,
    forStores: OutboxChange<Mutation, Response>? = nil
  ) {
    if state.withLock({ $0.known.replace(entry.name, with: nil) }) != nil {
      publisher.report(change, forStores: forStores)
    }
  }
}
