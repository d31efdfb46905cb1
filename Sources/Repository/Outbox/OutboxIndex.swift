/// The entries that an outbox knows of, and the number that wait.
struct OutboxIndex<Mutation: Codable & Sendable> {
  private var entries: [OutboxFileName: OutboxEntry<Mutation>] = [:]
  private(set) var waitingCount = 0

  var names: some Collection<OutboxFileName> { entries.keys }

  subscript(_ name: OutboxFileName) -> OutboxEntry<Mutation>? { entries[name] }

  /// Replaces or removes an entry; returns the old one.
  mutating func replace(_ name: OutboxFileName, with entry: OutboxEntry<Mutation>?) -> OutboxEntry<Mutation>? {
    let old = entries[name]
    entries[name] = entry
    waitingCount += (entry?.isWaiting == true ? 1 : 0) - (old?.isWaiting == true ? 1 : 0)
    return old
  }
}
