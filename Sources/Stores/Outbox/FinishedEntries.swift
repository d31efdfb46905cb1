import SystemBase

/// The finished entries of each folder, by its path without symbolic links, that could not be removed: no outbox of this
/// process sends them again.
struct FinishedEntries: Sendable {
  private let table = Locked<[ExactText: Set<OutboxFileName>]>([:])

  func all(of path: String) -> Set<OutboxFileName> { table.withLock { $0[ExactText(path)] ?? [] } }

  func insert(_ name: OutboxFileName, of path: String) {
    table.withLock { _ = $0[ExactText(path), default: []].insert(name) }
  }

  func remove(_ name: OutboxFileName, of path: String) {
    let path = ExactText(path)
    table.withLock { table in
      table[path]?.remove(name)
      if table[path]?.isEmpty == true { table[path] = nil }
    }
  }
}

let finishedEntries = FinishedEntries()
