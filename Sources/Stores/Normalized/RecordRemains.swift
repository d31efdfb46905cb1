import SystemBase

/// What a journal could not write until it ended, for the next one of the same storage in this process: else what is older,
/// or was removed or refused, would come back as current.
struct RecordRemains: Sendable {
  private static let table = Locked<[ExactText: RecordRemains]>([:])

  /// What has changed, as an entry has it; `nil` if all that the storage has is to be removed.
  var changes: [UInt8]? = []

  /// Whether the storage does not say that the server has refused the account.
  var isRefused = false

  private var isEmpty: Bool { changes?.isEmpty == true && !isRefused }

  /// Keeps them for the next journal, if there are any.
  func keep(for identity: String?) {
    guard let identity, !isEmpty else { return }
    Self.table.withLock { $0[ExactText(identity)] = self }
  }

  /// Takes what the last journal has left.
  static func take(of identity: String?) -> RecordRemains {
    guard let identity else { return RecordRemains() }
    return table.withLock { $0.removeValue(forKey: ExactText(identity)) } ?? RecordRemains()
  }
}
