public import Streams

/// Wraps the sending of sessions: sees their decoded, typed responses.
///
/// Write an interceptor to act on what responses mean: to replace, delay or fail one, or to send the request again. To
/// act on the messages themselves, write an `HTTPMiddleware` of the module HTTPClientCore.
///
///     struct SignInAgain: SessionInterceptor {
///       func intercept<Session: APISession>(
///         _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
///       ) -> Observable<Session.ResponseType> {
///         next(session).do(onError: { error in
///           if ((error as? RequestError)?.cause as? EnvelopeFailure)?.code == "1001" { signIn() }
///         })
///       }
///     }
public protocol SessionInterceptor: Sendable {
  /// Returns the response to a session; calls `next` once, several times or not at all. Must not block.
  func intercept<Session: APISession>(
    _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
  ) -> Observable<Session.ResponseType>
}
