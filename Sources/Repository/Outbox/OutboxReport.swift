/// The result of a flush of an ``Outbox``.
public struct OutboxReport<Mutation: Codable & Sendable>: Sendable {
  /// What was sent, in order.
  public internal(set) var sent: [OutboxEntry<Mutation>]

  /// What was set aside.
  public internal(set) var refused: [OutboxEntry<Mutation>]

  /// Unreadable entries: they are not sent, and stay until they are discarded.
  public internal(set) var unreadable: [UnreadableOutboxEntry]

  /// Why the rest still waits; `nil` if nothing waits any more.
  public internal(set) var error: (any Error)?

  /// Makes a report, to test a view of an outbox with.
  public init(
    sent: [OutboxEntry<Mutation>] = [], refused: [OutboxEntry<Mutation>] = [],
    unreadable: [UnreadableOutboxEntry] = [], error: (any Error)? = nil
  ) {
    self.sent = sent
    self.refused = refused
    self.unreadable = unreadable
    self.error = error
  }
}
