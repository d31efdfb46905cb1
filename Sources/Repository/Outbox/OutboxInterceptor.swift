public import Networking
public import Streams

/// Sends what waits in an outbox as soon as another request has succeeded: then there is a server again.
///
///     client.interceptors.append(OutboxInterceptor(outbox))
///
/// Nothing waits for that, and nothing is done while a flush is still to begin, nor as long as the outbox lets a server
/// alone that has failed to take what waits.
public struct OutboxInterceptor: SessionInterceptor {
  private let flush: @Sendable () -> Void

  /// Flushes an outbox, which it does not keep alive.
  public init<Mutation, Response>(_ outbox: Outbox<Mutation, Response>) {
    flush = { [weak outbox] in outbox?.flushSoon() }
  }

  /// Begins to flush with each answer, and passes it on.
  public func intercept<Session: APISession>(
    _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
  ) -> Observable<Session.ResponseType> {
    next(session).do(onNext: { [flush] _ in flush() })
  }
}
