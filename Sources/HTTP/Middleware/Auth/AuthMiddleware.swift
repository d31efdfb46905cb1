public import Foundation
public import Streams

/// Sends each request with a token, and has the token refreshed when a server rejects it.
///
///     AuthMiddleware(InMemoryTokenProvider(token) { old in … })
///
/// If a response is a challenge, the token is refreshed (once, however many such responses there are) and the request
/// is sent again, once, whatever its method: a challenge means that it was not carried out. (Where a
/// ``RedirectMiddleware``, which belongs above this one, has followed a redirect below it, only what is
/// ``HTTPRequest/isReplayable`` goes again.) An answer that comes late, under a token that was replaced meanwhile, is
/// sent again with the new one right away. If a refresh fails, all requests that wait for it fail with its error; the
/// next request that needs a token starts another. A token that says when it expires is renewed ahead of that, while
/// requests go on with the old one; an expired one is not sent.
///
/// - A request that has the field already is left alone.
/// - No request is sent again under another account's token, or after a sign-out: its first response is given instead,
///   or an error of the kind `httpStatus` if that was too long to be held back.
/// - What waits for a token when its account signs out is sent without one.
/// - Each account has refreshes of its own.
/// - A wait for a token ends with the request's own `timeouts.total`, as `timedOut`; the refresh goes on.
///
/// Calls back where the exchanges do; a request that waited for a token goes on where the refresh ended.
public struct AuthMiddleware: HTTPMiddleware {
  private let keeper: TokenKeeper
  private let challenge: AuthenticationChallenge
  private let fieldName: String
  private let fieldValue: @Sendable (AccessToken) -> String
  private let scheduler: any Scheduler

  /// Takes where tokens come from, and how.
  ///
  /// - Parameters:
  ///   - provider: Gives the tokens.
  ///   - challenge: Which answers reject a token; status 401 unless given.
  ///   - refreshAhead: How long before its expiry to renew a token; of one that a refresh brought, at most a quarter of
  ///     its life.
  ///   - refreshTimeout: When to give a refresh up.
  ///   - fieldName: The name of the header field that carries a token.
  ///   - fieldValue: Its value; `Bearer …` (RFC 6750, section 2.1) unless given. A request fails with `invalidRequest` where
  ///     no header can have it.
  ///   - scheduler: Times the refresh.
  ///   - now: The calendar's clock, for expiry.
  public init(
    _ provider: some TokenProvider, challenge: AuthenticationChallenge = .http, refreshAhead: Duration = .seconds(30),
    refreshTimeout: Duration = .seconds(30), fieldName: String = "Authorization",
    fieldValue: @escaping @Sendable (AccessToken) -> String = { "Bearer \($0.value)" },
    scheduler: some Scheduler = ConcurrentScheduler(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    keeper = TokenKeeper(
      provider, refreshAhead: refreshAhead, timeout: refreshTimeout, scheduler: scheduler, now: now)
    self.challenge = challenge
    self.fieldName = fieldName
    self.fieldValue = fieldValue
    self.scheduler = scheduler
  }

  /// Sends the request on with a token.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      guard !request.headers.contains(fieldName) else { return next(request) }
      let start = scheduler.now
      return keeper.ticket(for: request).flatMap { ticket in
        var first = try adding(ticket.token, to: left(of: request, since: start))
        let isRedirected = Locked(false)
        first.noteRedirect = {
          isRedirected.withLock { $0 = true }
          request.noteRedirect?()
        }
        return next(first)
          .held(upTo: RefusedResponse.bodyLimit, where: challenge.isPossible) { response, isWhole in
            if challenge.isMet(response) { throw RefusedResponse(response: response, isWhole: isWhole) }
          }
          .catch { error in
            guard let refused = error as? RefusedResponse else { throw error }
            request.observation?.tell(.challenged)
            // After a redirect the challenge is another request's, and this one may have been carried out.
            guard request.isReplayable || !isRedirected.withLock({ $0 }) else { return refused.stream }
            return keeper.renewed(ticket, for: left(of: request, since: start)).flatMap { renewed in
              guard let token = renewed.token, ticket.token == nil || token.account == ticket.token?.account else {
                return refused.stream
              }
              return next(try adding(token, to: left(of: request, since: start)))
            }
          }
      }
    }
  }

  /// The request with what is left of its time.
  private func left(of request: HTTPRequest, since start: Duration) -> HTTPRequest {
    var request = request
    request.timeouts = request.timeouts.after(scheduler.now - start)
    return request
  }

  /// The request with the token in it.
  private func adding(_ token: AccessToken?, to request: HTTPRequest) throws(RequestError) -> HTTPRequest {
    guard let token else { return request }
    var request = request
    try request.headers.append(fieldName, fieldValue(token))
    return request
  }
}
