public import HTTPClientCore
public import Streams
public import SystemBase

/// Sends each request with a token, and has the token refreshed when a server rejects it.
///
///     AuthMiddleware(InMemoryTokenProvider(token) { old in … })
///
/// Servers of GraphQL may reject a token with status 200: for them, GraphQLClient has the challenge `graphQL`.
///
/// If a response is a challenge, the token is refreshed (once, however many such responses there are) and the request
/// is sent again, once, whatever its method: a challenge means that it was not carried out. (If a
/// ``RedirectMiddleware`` inside this one has followed a redirect, only a request that is `HTTPRequest.isReplayable` is
/// sent again; that middleware belongs outside.) If a challenge arrives late, for a token that has been replaced
/// meanwhile, the request is sent again with the new token right away. If a refresh fails, all requests that wait for
/// it fail with its error; the next request that needs a token starts another. From the second failure in a row on,
/// there is a pause of 2 seconds, then 4, and so on up to 60, in which requests that need a new token fail with the
/// last error at once, unless somebody signs in with another token. A token with a time of expiry is renewed ahead of
/// it, while requests continue with the old token; an expired token is not sent. The wall clock is read once for each
/// token, when it is brought or first seen; from then on its age is measured by the scheduler's clock. If one that a
/// refresh has brought seems to have expired when it comes, because the wall clock is wrong, it is sent for five minutes,
/// unless a server rejects it.
///
/// - A request that already has the header field is left alone.
/// - A request is for the account whose token is current when it enters the first of the middlewares that it is sent
///   through (`HTTPTransport.send(_:through:)`), or for nobody. If another one is current when it comes here, after a
///   wait, for a retry, or as a redirect, it is not sent, and fails with `cancelled`; `reached` is `never`, unless it
///   was sent before. A `nil` token is a sign-out. A request for nobody may be sent with a token that a refresh has
///   brought because of it, or of another one for nobody.
/// - After a challenge, a request that must not be sent again for another account's token has its first response, or an
///   error of the kind `httpStatus` if that was too long to be held back.
/// - Refreshes are separate for each account; whose a token without one is, ``AccessToken/account`` says.
/// - The wait for a token is limited by the request's own `timeouts.total`, and then fails with `timedOut`; the refresh
///   continues.
///
/// Calls back on the exchanges' threads; a request that waited for a token continues on the thread on which the refresh
/// ended.
public struct AuthMiddleware: HTTPMiddleware {
  package final class Decider: Sendable {
    let keeper: TokenKeeper
    let challenge: AuthenticationChallenge
    /// For whom its requests are.
    let accounts: AccountSource
    let scheduler: any Scheduler
    /// `nil` for `Bearer …`.
    private let fieldValue: (@Sendable (AccessToken) -> String)?
    /// The field with the token that was sent last: checking a field of this length takes longer than all else here.
    private let last = LastToken<HTTPField>()

    init(
      _ keeper: TokenKeeper, _ challenge: AuthenticationChallenge, _ accounts: AccountSource,
      _ fieldValue: (@Sendable (AccessToken) -> String)?, _ scheduler: any Scheduler
    ) {
      self.keeper = keeper
      self.challenge = challenge
      self.accounts = accounts
      self.fieldValue = fieldValue
      self.scheduler = scheduler
    }

    /// The field that carries a token.
    func field(with token: AccessToken) throws(RequestError) -> HTTPField {
      if let fieldValue { return try HTTPField(name: accounts.fieldName, value: fieldValue(token)) }
      return try last.value(of: token) { token throws(RequestError) in
        try HTTPField(name: accounts.fieldName, value: "Bearer " + token.value)
      }
    }

    /// The request with the token in it.
    func adding(_ token: AccessToken?, to request: HTTPRequest) throws(RequestError) -> HTTPRequest {
      guard let token else { return request }
      var request = request
      request.headers.append(try field(with: token))
      request.record(token: token.value, of: token.account, fieldName: accounts.fieldName)
      return request
    }
  }

  package let decider: Decider

  /// Takes the provider of tokens, and how to use them.
  ///
  /// - Parameters:
  ///   - provider: The provider of the tokens.
  ///   - challenge: Which responses reject a token; by default those with status 401.
  ///   - refreshAhead: How long before its expiry to renew a token; if a refresh brought it, at most a quarter of its
  ///     lifetime.
  ///   - refreshTimeout: When to give up a refresh.
  ///   - fieldName: The name of the header field that carries the token.
  ///   - fieldValue: The value of the field; by default `Bearer …` (RFC 6750, section 2.1). If it is not a valid header
  ///     value, the request fails with `invalidRequest`.
  ///   - scheduler: Times refreshes and waits.
  ///   - now: The wall clock, to which times of expiry refer.
  public init(
    _ provider: some TokenProvider, challenge: AuthenticationChallenge = .http, refreshAhead: Duration = .seconds(30),
    refreshTimeout: Duration = .seconds(30), fieldName: String = "Authorization",
    fieldValue: (@Sendable (AccessToken) -> String)? = nil,
    scheduler: some Scheduler = ConcurrentScheduler(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    let keeper = TokenKeeper(
      provider, refreshAhead: refreshAhead, timeout: refreshTimeout, scheduler: scheduler, now: now)
    let accounts = AccountSource(provider: provider.identity ?? ObjectIdentifier(keeper), fieldName: fieldName) {
      provider.currentToken?.pinned
    }
    decider = Decider(keeper, challenge, accounts, fieldValue, scheduler)
  }

  private var keeper: TokenKeeper { decider.keeper }

  /// For whom its requests are.
  var accounts: AccountSource { decider.accounts }

  /// The provider of the tokens.
  var tokens: any TokenProvider { keeper.provider }

  /// The name of the header field that carries the token.
  package var fieldName: String { accounts.fieldName }

  /// Passes the request on with a token.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    deciding(on: request, next: next)
  }
}

extension AuthMiddleware: DecidingMiddleware {}

extension AuthMiddleware.Decider: RequestDecider {
  package func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) -> (any RequestPassage)? {
    guard !request.headers.contains(accounts.fieldName) else { return nil }
    let entry = place.entry
    let account = entry.account(of: accounts.provider) ?? entry.pin(accounts.account)
    return AuthenticatedRequest(request, account.token, start: place.time(by: scheduler), by: self)
  }
}

/// A request on its way through the middleware.
///
/// `@unchecked Sendable`: what changes is touched by calls that come one at a time, and by what is sent for them, before
/// its response comes: a token that was waited for, and a redirect.
private final class AuthenticatedRequest: RequestPassage, @unchecked Sendable {
  private let request: HTTPRequest
  /// The token with which the request entered.
  private let pinned: RequestEntry.Token?
  private let decider: AuthMiddleware.Decider
  private let start: Duration
  /// The ticket with which it was sent, until it is sent again.
  @exclusivity(unchecked) private var ticket: TokenKeeper.Ticket?
  /// Whether responses belong to another request.
  @exclusivity(unchecked) private var isRedirected = false

  init(
    _ request: HTTPRequest, _ pinned: RequestEntry.Token?, start: Duration, by decider: AuthMiddleware.Decider
  ) {
    self.request = request
    self.pinned = pinned
    self.start = start
    self.decider = decider
  }

  private var keeper: TokenKeeper { decider.keeper }

  func depart() throws -> Departure {
    let ticket = keeper.ticket()
    let isCurrent = TokenLineage.continues(pinned, with: ticket.token)
    if isCurrent, !ticket.isExpired { return .now(try sent(request, with: ticket)) }
    guard let old = isCurrent ? ticket : keeper.refreshingTicket(of: pinned, replacedBy: ticket.token) else {
      throw changed
    }
    return .later(
      keeper.renewed(old, for: request).map { [self] ticket in
        guard keeper.maySend(ticket.token, for: pinned) else { throw changed }
        return try sent(left, with: ticket)
      })
  }

  func receive(_ head: HTTPResponseHead) -> Int? {
    decider.challenge.isPossible(head) && ticket != nil ? 64 << 10 : nil
  }

  func decide(on response: HTTPResponse, isWhole: Bool) -> Decision {
    guard decider.challenge.isMet(response) else { return .pass }
    request.context.observation?.report(.challenged)
    // After a redirect, the challenge is to another request, and this one may have been carried out.
    let mayHaveEffects = isRedirected || decider.challenge.mayFollowEffects(response)
    guard let ticket = ticket.take(), request.mayBeSentAgain(after: mayHaveEffects ? .maybe : .rejected),
      request.entry.mayBeReplayed
    else { return .replace(.just(nil)) }
    return .replace(
      keeper.renewed(ticket, for: left).map { [self] renewed in
        guard let token = renewed.token, keeper.maySend(token, for: pinned), request.entry.recordReplay()
        else { return nil }
        return try decider.adding(token, to: left)
      })
  }

  /// The error of a request whose account is no longer the current one.
  private var changed: RequestError {
    RequestError(
      .cancelled, "The account for which the request was made has signed out: it is not sent for another.",
      operationName: request.operationName, reached: request.entry.sendCount > 0 ? .maybe : .never)
  }

  /// The request with what is left of its total deadline.
  private var left: HTTPRequest {
    var request = request
    request.timeouts = request.timeouts.after(decider.scheduler.now - start)
    return request
  }

  /// A request with the ticket's token.
  private func sent(_ request: HTTPRequest, with ticket: TokenKeeper.Ticket) throws(RequestError) -> HTTPRequest {
    var sent = try decider.adding(ticket.token, to: request)
    self.ticket = ticket
    // What is replayable is sent again in any case.
    if !request.mayBeSentAgain(after: .maybe) {
      sent.context.onRedirect = { [self, outer = request.context.onRedirect] in
        isRedirected = true
        outer?()
      }
    }
    return sent
  }
}

/// Tokens for connections that outlast requests, such as those of subscriptions.
extension AuthMiddleware {
  /// A token for a connection.
  package struct Grant: Sendable {
    /// The token; `nil` if nobody is signed in.
    package let token: AccessToken?
    /// The header field that carries it.
    package let field: HTTPField?
  }

  /// What tells the holders of tokens apart: a middleware and its copies have one.
  package var identity: ObjectIdentifier { ObjectIdentifier(keeper) }

  /// Whether a token is of another account than that of a connection; not as long as it may be what a refresh brings that
  /// has not ended. Nobody is an account of nobody's: who was not signed in continues with what a sign-in brings.
  package func isAnothers(_ token: AccessToken?, than old: AccessToken?) -> Bool {
    !continues(old, with: token) && refreshingTicket(of: old, replacedBy: token) == nil
  }

  private func continues(_ old: AccessToken?, with token: AccessToken?) -> Bool {
    old == nil || TokenLineage.continues(old?.pinned, with: token)
  }

  private func refreshingTicket(of old: AccessToken?, replacedBy token: AccessToken?) -> TokenKeeper.Ticket? {
    keeper.refreshingTicket(of: old?.pinned, replacedBy: token)
  }

  /// A cold stream of the token for a connection: the current one, or, if the server has rejected the last one, `old`, the
  /// one that a refresh brings, which is shared with all requests.
  ///
  /// Fails with `cancelled` if that account has signed out: the connection was its own.
  package func grant(
    for request: HTTPRequest, after old: AccessToken?, isRejected: Bool
  ) -> Observable<Grant> {
    .deferred {
      let current = keeper.ticket()
      let refreshing = continues(old, with: current.token) ? nil : refreshingTicket(of: old, replacedBy: current.token)
      let ticket = refreshing ?? current
      // Another request may have had it replaced already.
      let isOfNoUse =
        refreshing != nil || ticket.isExpired
        || isRejected && (ticket.token?.value).hasBytes(of: old?.value)
      let tickets = isOfNoUse ? keeper.renewed(ticket, for: request) : .just(ticket)
      return tickets.take(1).map { ticket in
        if !continues(old, with: ticket.token) {
          throw RequestError(
            .cancelled, "The account that the subscription belongs to has signed out: subscribe again.",
            operationName: request.operationName)
        }
        let field = try ticket.token.map { try decider.field(with: $0) }
        return Grant(token: ticket.token, field: field)
      }
    }
  }
}

/// How to recognise a response that rejects the request's token.
///
/// The module GraphQLClient adds `graphQL`, which also recognises errors with the code `UNAUTHENTICATED`.
public struct AuthenticationChallenge: Sendable {
  /// Whether a response with this head may be a challenge, so that it has to be held back and examined.
  let isPossible: @Sendable (HTTPResponseHead) -> Bool

  /// Whether the response is a challenge.
  let isMet: @Sendable (HTTPResponse) -> Bool

  /// Whether part of the request may have been carried out before the challenge, so that it is sent again only if it is
  /// replayable.
  let mayFollowEffects: @Sendable (HTTPResponse) -> Bool

  /// Takes two closures: whether a response with this head may be a challenge, and whether the response is one. A
  /// response that may be one is held back until it is complete; if its body exceeds 64 KiB, the second closure sees
  /// only what has arrived by then.
  public init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool, isMet: @escaping @Sendable (HTTPResponse) -> Bool
  ) {
    self.init(isPossible: isPossible, isMet: isMet, mayFollowEffects: { _ in false })
  }

  package init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool, isMet: @escaping @Sendable (HTTPResponse) -> Bool,
    mayFollowEffects: @escaping @Sendable (HTTPResponse) -> Bool
  ) {
    self.isPossible = isPossible
    self.isMet = isMet
    self.mayFollowEffects = mayFollowEffects
  }

  /// Either challenge: for a server that rejects tokens in more than one way.
  ///
  ///     AuthMiddleware(tokens, challenge: .http.or(AuthenticationChallenge(isPossible: …, isMet: …)))
  public func or(_ other: AuthenticationChallenge) -> AuthenticationChallenge {
    AuthenticationChallenge(
      isPossible: { isPossible($0) || other.isPossible($0) },
      isMet: { meets($0) || other.meets($0) },
      mayFollowEffects: { meets($0) && mayFollowEffects($0) || other.meets($0) && other.mayFollowEffects($0) })
  }

  /// Each of two sees only the responses to its own requests.
  private func meets(_ response: HTTPResponse) -> Bool { isPossible(response.head) && isMet(response) }

  /// The status 401 (RFC 9110, section 15.5.2).
  public static let http = AuthenticationChallenge(isPossible: { $0.status == 401 }, isMet: { $0.head.status == 401 })
}
