/// What becomes of an entry of an ``Outbox``, as those who watch are told.
public enum OutboxChange<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// It waits to be sent.
  case added(OutboxEntry<Mutation>)

  /// The server has answered.
  case sent(OutboxEntry<Mutation>, Response)

  /// It was set aside, and is not sent any more unless it is retried: the server has said no, or it may not be sent again.
  case refused(OutboxEntry<Mutation>, any Error)

  /// It does not wait any more: it was discarded, or the one who has submitted it was told why it was not sent, or another
  /// process has sent it, or set it aside.
  case withdrawn(OutboxEntry<Mutation>)

  /// Which entry it is.
  public var entry: OutboxEntry<Mutation> {
    switch self {
    case .added(let entry), .sent(let entry, _), .refused(let entry, _), .withdrawn(let entry): entry
    }
  }
}
