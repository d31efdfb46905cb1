public import Networking
public import Streams

/// Sends what waits in an outbox as soon as another request has succeeded: then there is a server again.
///
///     client.interceptors.append(OutboxInterceptor(outbox))
///
/// The other request's response is not delayed. Nothing is done if a flush is already about to begin, or while the
/// outbox pauses after a failure.
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
