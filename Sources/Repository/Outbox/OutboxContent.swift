/// What is in the file of an entry of an ``Outbox``.
enum OutboxContent<Mutation: Codable & Sendable>: Sendable {
  case entry(OutboxEntry<Mutation>)
  case unreadable(UnreadableOutboxEntry)
}
