/// A change of an entry of an ``Outbox``, as observers see it.
public enum OutboxChange<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// The entry waits to be sent.
  case added(OutboxEntry<Mutation>)

  /// It was sent, and this is the server's response.
  case sent(OutboxEntry<Mutation>, Response)

  /// It was set aside, and is not sent again unless it is retried: the server has refused it, or it must not be sent
  /// twice.
  case refused(OutboxEntry<Mutation>, any Error)

  /// It no longer waits: it was discarded, its submitter was told why it was not sent, or another process has sent it
  /// or set it aside.
  case withdrawn(OutboxEntry<Mutation>)

  /// The entry.
  public var entry: OutboxEntry<Mutation> {
    switch self {
    case .added(let entry), .sent(let entry, _), .refused(let entry, _), .withdrawn(let entry): entry
    }
  }
}
