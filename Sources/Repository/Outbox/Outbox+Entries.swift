import Streams

extension Outbox {
  /// The names of all entries that are not over, oldest first.
  func names() throws -> [OutboxFileName] {
    let names = try folder.names()
    let over = state.withLock { $0.over }
    return over.isEmpty ? names : names.filter { !over.contains($0) }
  }

  /// Looks at what is on disk, and tells of what other processes have put in or taken out; gives the oldest that waits.
  func look() throws -> Entry? {
    for name in state.withLock({ $0.over }) {
      if (try? folder.remove(name)) != nil { state.withLock { _ = $0.over.remove(name) } }
    }
    // What was put in before the look, and is not seen, is gone.
    let known = state.withLock { $0.known }
    let names = try names()
    let gone = Set(known.keys).subtracting(names)
    for name in gone { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    var oldest: Entry?
    var unreadable: [UnreadableOutboxEntry] = []
    for name in names where known[name]?.refusal == nil {
      // Another process may have changed what is known: what is sent is what is on disk now.
      if oldest != nil, known[name] != nil { continue }
      // Whoever puts it in takes a turn then.
      if state.withLock({ $0.arriving.contains(name.id) }) { continue }
      switch try folder.listedContent(name) {
      case .entry(let entry)?:
        note(entry)
        if oldest == nil, entry.refusal == nil { oldest = entry }
      case .unreadable(let entry)?:
        unreadable.append(entry)
        if let known = known[name] { forget(known, .withdrawn(known)) }
      case nil: continue
      }
    }
    state.withLock { [unreadable] in $0.unreadable = unreadable }
    return oldest
  }

  /// Changes an entry on disk; `nil` where somebody has taken it out meanwhile.
  func change(_ entry: Entry, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry? {
    var changed = entry
    change(&changed)
    guard try await onQueue({ [changed] in try self.folder.update(changed) }) else { return nil }
    let old = state.withLock { state in
      state.known[entry.name] == nil ? nil : state.known.updateValue(changed, forKey: entry.name)
    }
    // Released here, outside the lock.
    _ = old
    return changed
  }

  /// Notes an entry as it is on disk, and tells of it where it is new here, or waits no more.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.updateValue(entry, forKey: entry.name) }
    let (waited, waits) = (old.map { $0.refusal == nil } ?? false, entry.refusal == nil)
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
    let old = state.withLock { $0.known.removeValue(forKey: entry.name) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }
}
