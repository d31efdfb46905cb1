/// The content of an entry's file.
enum OutboxContent<Mutation: Codable & Sendable>: Sendable {
  case entry(OutboxEntry<Mutation>)
  case unreadable(UnreadableOutboxEntry)
}
