import Streams

extension Outbox {
  /// The names of all entries that are not over, oldest first.
  func names() throws -> [OutboxFileName] {
    let names = try folder.names()
    let over = state.withLock { $0.over }
    return over.isEmpty ? names : names.filter { !over.contains($0) }
  }

  /// Looks at what is on disk, and tells of what other processes have put in, taken out, or let wait again; gives the names
  /// of what waits, oldest first.
  func look() throws -> [OutboxFileName] {
    for name in state.withLock({ $0.over }) {
      if (try? folder.remove(name)) != nil { state.withLock { _ = $0.over.remove(name) } }
    }
    // What was put in before the look, and is not seen, is gone.
    let known = state.withLock { $0.known }
    let names = try names()
    for name in Set(known.names).subtracting(names) { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    // Whoever puts one in takes a turn then.
    let arriving = state.withLock { state in
      state.unreadable = []
      return state.arriving
    }
    return try names.filter { name in
      if arriving.contains(name.id) { return false }
      return try known[name]?.isWaiting == true || reread(name) != nil
    }
  }

  /// Notes what is on disk now of an entry, which somebody may have changed, or taken out; gives it where it waits.
  func reread(_ name: OutboxFileName) throws -> Entry? {
    let content = try folder.listedContent(name)
    if case .entry(let entry)? = content {
      note(entry)
      return entry.isWaiting ? entry : nil
    }
    if case .unreadable(let entry)? = content { state.withLock { $0.unreadable.append(entry) } }
    if let known = state.withLock({ $0.known[name] }) { forget(known, .withdrawn(known)) }
    return nil
  }

  /// Changes an entry on disk; `nil` where somebody has taken it out meanwhile.
  func change(_ entry: Entry, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry? {
    var changed = entry
    change(&changed)
    guard try await onQueue({ [changed] in try self.folder.update(changed) }) else { return nil }
    let old = state.withLock { state in
      state.known[entry.name] == nil ? nil : state.known.replace(entry.name, with: changed)
    }
    // Released here, outside the lock.
    _ = old
    return changed
  }

  /// Notes an entry as it is on disk, and tells of it where it is new here, or waits no more.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.replace(entry.name, with: entry) }
    let (waited, waits) = (old?.isWaiting ?? false, entry.isWaiting)
    if waits, !waited { notices.onNext(.change(.added(entry)) {}) }
    if waited, !waits { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Lets an entry be looked at that was put in, and told of. One that was taken out before that is withdrawn once more:
  /// those who watch may have heard of that first.
  func endArrival(of entry: Entry) {
    let isGone = state.withLock { state in
      state.arriving.remove(entry.id)
      return state.known[entry.name] == nil
    }
    if isGone { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Removes an entry that is over, and tells what has become of it, also where it cannot be removed: it is not sent any
  /// more in any case. Gives the reason why it cannot.
  @discardableResult
  func end(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void
  ) -> (any Error)? {
    let removal = Result { try folder.remove(entry.name) }
    if case .failure = removal { state.withLock { _ = $0.over.insert(entry.name) } }
    forget(entry, change, then: completion)
    return if case .failure(let error) = removal { error } else { nil }
  }

  /// Forgets an entry that is no longer on disk, and tells what has become of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void = {}
  ) {
    let old = state.withLock { $0.known.replace(entry.name, with: nil) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }
}
