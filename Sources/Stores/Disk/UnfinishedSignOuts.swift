import SystemBase

/// The sign-outs of each folder, by its path without symbolic links, that this process has begun and not finished: it may
/// have been unable to write that.
struct UnfinishedSignOuts<Generation: Equatable & Sendable>: Sendable {
  /// A sign-out that ends one generation of a folder, if there was one, and begins the next.
  struct SignOut: Sendable {
    let generation: Generation?
    let next: Generation
  }

  private let table = Locked<[ExactText: [SignOut]]>([:])

  func all(of path: String) -> [SignOut] { table.withLock { $0[ExactText(path)] ?? [] } }

  func begin(_ signOut: SignOut, of path: String) {
    let path = ExactText(path)
    table.withLock { table in
      // In one step, if this is another attempt: who opens the folder meanwhile finds it.
      table[path] = (table[path] ?? []).filter { $0.next != signOut.next } + [signOut]
    }
  }

  func end(_ next: Generation, of path: String) {
    let path = ExactText(path)
    table.withLock { table in
      table[path]?.removeAll { $0.next == next }
      if table[path]?.isEmpty == true { table[path] = nil }
    }
  }
}
