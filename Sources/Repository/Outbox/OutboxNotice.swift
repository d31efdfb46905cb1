import Streams

/// What an outbox's observers are told, one notice at a time, in the same order for all.
enum OutboxNotice<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// A change, and what to do once all observers were told.
  case change(OutboxChange<Mutation, Response>, then: @Sendable () -> Void)
  case arrival(UInt64, AnyObserver<OutboxChange<Mutation, Response>>)
  case departure(UInt64)
  /// The account is signed out, or the outbox is released: observers are told nothing more, but completions still run.
  case end
}
