import Streams

extension Outbox {
  /// Looks at what is on disk, and tells of what other processes have put in or taken out; gives the oldest that waits.
  func look() throws -> Entry? {
    // What was put in before the look, and is not seen, is gone.
    let known = state.withLock { $0.known }
    let names = try folder.names()
    let gone = Set(known.keys).subtracting(names)
    for name in gone { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    var oldest: Entry?
    var unreadable: [UnreadableOutboxEntry] = []
    for name in names where known[name]?.refusal == nil {
      // Another process may have changed what is known: what is sent is what is on disk now.
      if oldest != nil, known[name] != nil { continue }
      // Whoever puts it in has not told of it yet, and takes a turn then.
      if state.withLock({ $0.known[name] == nil && $0.waiters[name.id] != nil }) { continue }
      switch try folder.content(name) {
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

  func change(_ entry: Entry, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry {
    var changed = entry
    change(&changed)
    try await onQueue { [changed] in try self.folder.update(changed) }
    let old = state.withLock { state in
      state.known[entry.name] == nil ? nil : state.known.updateValue(changed, forKey: entry.name)
    }
    _ = old
    return changed
  }

  /// Notes an entry as it is on disk, and tells of it where it is new here, or waits no more.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.updateValue(entry, forKey: entry.name) }
    let (waited, waits) = (old.map { $0.refusal == nil } ?? false, entry.refusal == nil)
    if waits, old == nil { notices.onNext(.change(.added(entry)) {}) }
    if waited, !waits { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Forgets an entry that is no longer on disk, and tells what has become of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Answer>, then completion: @escaping @Sendable () -> Void = {}
  ) {
    let old = state.withLock { $0.known.removeValue(forKey: entry.name) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }
}
