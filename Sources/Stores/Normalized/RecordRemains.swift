import SystemBase

/// What a journal could not write until it ended, for the next one of the same storage in this process: else what is older,
/// or was removed or refused, would come back as current.
struct RecordRemains: Sendable {
  private static let table = Locked<[ExactText: RecordRemains]>([:])

  /// The last entry that the journal knew. What others have written since is newer.
  var position: RecordPosition?

  /// What has changed, as an entry has it; `nil` if all that the storage has is to be removed.
  var changes: [UInt8]? = []

  /// Entries with changes that the storage has failed to write, and may have nevertheless.
  var attempts: [RecordJournal.Attempt] = []

  /// The number of the latest sign-out before the one that all is to be removed for; `nil` if it is for none.
  var signOut: UInt64?

  /// Whether the storage does not say that the server has refused the account.
  var isRefused = false

  private var isEmpty: Bool { changes?.isEmpty == true && !isRefused }

  /// Keeps them for the next journal, if there are any.
  func keep(for identity: String?) {
    guard let identity, !isEmpty else { return }
    Self.table.withLock { table in
      let key = ExactText(identity)
      table[key] = table[key].map(joined) ?? self
    }
  }

  /// These with those of another journal, which was open at the same time.
  private func joined(with other: RecordRemains) -> RecordRemains {
    var joined = self
    if let changes, let others = other.changes {
      if position == other.position {
        (joined.changes, joined.attempts) = (others + changes, other.attempts + attempts)
      } else if changes.isEmpty || position?.isBefore(other.position) == true {
        // What others have written since is newer than these changes.
        joined = other
      }
    } else if signOut == nil, other.changes == nil {
      joined = other
    }
    joined.isRefused = isRefused || other.isRefused
    return joined
  }

  /// Takes what the last journal has left.
  static func take(of identity: String?) -> RecordRemains? {
    guard let identity else { return nil }
    return table.withLock { $0.removeValue(forKey: ExactText(identity)) }
  }
}
