public import GraphQLClient
public import Streams

/// Sends what waits in an outbox as soon as another request succeeds, since the server can then be reached.
///
///     client.interceptors.append(OutboxInterceptor(outbox))
///
/// The other request's response is not delayed. Nothing is done if a flush is already about to begin, or while the
/// outbox pauses after a failure.
public struct OutboxInterceptor: SessionInterceptor {
  private let flush: @Sendable () -> Void

  /// Makes an interceptor that flushes an outbox, without retaining it.
  public init<Mutation, Response>(_ outbox: Outbox<Mutation, Response>) {
    flush = { [weak outbox] in outbox?.flushSoon() }
  }

  /// Starts a flush with each response, and passes the response on.
  public func intercept<Session: APISession>(
    _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
  ) -> Observable<Session.ResponseType> {
    next(session).do(onNext: { [flush] _ in flush() })
  }
}
