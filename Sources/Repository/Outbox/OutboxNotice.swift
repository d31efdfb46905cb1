import Streams

/// What those who watch an outbox are told, one thing at a time, in one order for all.
enum OutboxNotice<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// A change, and what is to be done once all were told.
  case change(OutboxChange<Mutation, Response>, then: @Sendable () -> Void)
  case arrival(UInt64, AnyObserver<OutboxChange<Mutation, Response>>)
  case departure(UInt64)
  /// The account is signed out, or the outbox goes away: nobody is told any more, and what is to be done is done all the same.
  case end
}
