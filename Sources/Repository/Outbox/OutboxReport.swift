/// What a flush of an ``Outbox`` came to.
public struct OutboxReport<Mutation: Codable & Sendable>: Sendable {
  /// What the server has taken, in the order of sending.
  public internal(set) var sent: [OutboxEntry<Mutation>] = []

  /// What was set aside.
  public internal(set) var refused: [OutboxEntry<Mutation>] = []

  /// All that cannot be read: it was not sent, and stays until it is discarded.
  public internal(set) var unreadable: [UnreadableOutboxEntry] = []

  /// Why the rest still waits; `nil` where nothing waits any more.
  public internal(set) var error: (any Error)?
}
