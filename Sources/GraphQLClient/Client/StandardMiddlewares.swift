public import HTTPClientCore
public import HTTPMiddlewares
public import Streams

extension [any HTTPMiddleware] {
  /// The middlewares that a server process needs around its calls:
  ///
  ///     try APIClient(baseURL: url, middlewares: .standard(tokens: provider))
  ///
  /// The order, from the outside in, and the reasons for it:
  ///
  /// 1. **Deadline**: limits the time of everything inside it; each of the others passes on the time that is left.
  /// 2. **Cache**, if a storage is given: what is stored waits for no token, no slot and no pause, and may replace what
  ///    all the others have given up.
  /// 3. **Retry**: each attempt passes through all the others again, and a pause between attempts occupies no slot of
  ///    the limit. It does not retry what the inner ones refuse: an open circuit, a full queue or a limited rate.
  /// 4. **Rate limits**: whatever refuses a request for its rate is dealt with here alone, so that it is waited for once:
  ///    429, 403 with a time, and errors that mean throttling. Retries see the `Retry-After` of 503 alone. A request that
  ///    waits takes up no slot.
  /// 5. **Hedging**, if a delay is given: outside the limit, as each hedge takes a slot.
  /// 6. **Limit**: a request that waits here has no token yet, which could expire meanwhile.
  /// 7. **Redirects**, if any are to be followed: if the redirected request needs a new token, only that request is
  ///    sent again, not the first one.
  /// 8. **Tokens**, if there is a provider: to the outer ones, an attempt and its replay with a new token are one
  ///    attempt.
  /// 9. **Circuit breaker**: sees each exchange with the server, and its outcome.
  ///
  /// Log with `APIClient.observer`, which sees all of it. Put a middleware that adds headers first, so that a cache knows
  /// whose its responses are. One that signs each attempt has to be last; behind it, a cache serves only what the server
  /// has confirmed, and stores nothing that was signed in a field. One inside that adds nothing should say so in its
  /// `addedCredentials`.
  ///
  /// Before all of them, a request is given the account that the provider has a token of: whatever it waits for, it is
  /// not sent for another one, but fails with `cancelled`. Its attempts are counted for all of them together.
  ///
  /// - Parameters:
  ///   - tokens: Where tokens come from.
  ///   - challenge: Which responses reject a token.
  ///   - cache: Where responses to `GET` are stored; nowhere by default. Accounts are told apart by `tokens`, and responses
  ///     with GraphQL errors are not stored. For other settings, insert a `CacheMiddleware` of your own.
  ///   - retries: How often to send a request again at most, whatever the reason; only a new token, a redirect and a
  ///     GraphQL document after its hash do not count. With 0, no response is held back for a retry, and a refusal for the
  ///     rate alone is waited for, twice.
  ///   - budget: The budget that retries and hedges share.
  ///   - rateLimits: Which responses refuse a request for its rate; with `nil`, 429 is retried like any other failure.
  ///   - hedging: The delay after which a request is sent a second time; never by default.
  ///   - concurrency: How many requests to one origin may be in flight. If you raise it, raise the transport's own
  ///     limit, too: a `SocketTransport` has 64 connections to each origin unless its `maximumConnectionsPerOrigin` is
  ///     set.
  ///   - redirects: How many redirects to follow in a row; none by default.
  ///   - circuit: When a circuit opens, and for how long.
  ///   - scheduler: The scheduler of all timers.
  public static func standard(
    tokens: (any TokenProvider)? = nil, challenge: AuthenticationChallenge = .graphQL,
    cache: (any CacheStorage)? = nil, retries: Int = 2,
    budget: RetryBudget = RetryBudget(), rateLimits: RateLimitSignal? = .graphQL, hedging: HedgingDelay? = nil,
    concurrency: Int = 64, redirects: Int = 0,
    circuit: CircuitBreakerPolicy = CircuitBreakerPolicy(), scheduler: some Scheduler = ConcurrentScheduler()
  ) -> [any HTTPMiddleware] {
    var stack: [any HTTPMiddleware] = [DeadlineMiddleware(scheduler: scheduler)]
    if let cache {
      stack.append(
        CacheMiddleware(cache, owners: .credentials(of: tokens), mayStore: CacheMiddleware.hasNoGraphQLErrors))
    }
    if retries > 0 {
      let policy = RetryPolicy.exponential(
        attempts: retries + 1, initial: .milliseconds(100), maximum: .seconds(10))
      stack.append(RetryMiddleware(policy, budget: budget, scheduler: scheduler))
    }
    if let rateLimits {
      stack.append(
        RateLimitMiddleware(rateLimits, owners: .credentials(of: tokens), budget: budget, scheduler: scheduler))
    }
    if let hedging { stack.append(HedgingMiddleware(after: hedging, budget: budget, scheduler: scheduler)) }
    stack.append(ConcurrencyLimitMiddleware(concurrency, scheduler: scheduler))
    if redirects > 0 { stack.append(RedirectMiddleware(limit: redirects, scheduler: scheduler)) }
    if let tokens { stack.append(AuthMiddleware(tokens, challenge: challenge, scheduler: scheduler)) }
    return stack + [CircuitBreakerMiddleware(circuit, scheduler: scheduler)]
  }

  /// These middlewares with another one for tokens: in the place of an `AuthMiddleware` that is among them, else
  /// before the `CircuitBreakerMiddleware`, else last. The others, and so limits, budgets and circuits, are shared; a cache
  /// and the knowledge of rate limits are, too, which keep users apart.
  ///
  /// Keep one `AuthMiddleware` for each user who is signed in, rather than make one for each request: it is the
  /// middleware that refreshes a token once for all who wait.
  ///
  ///     var client = client  // a copy for one user
  ///     client.middlewares = client.middlewares.authenticating(by: AuthMiddleware(tokensOfUser, challenge: .graphQL))
  public func authenticating(by authentication: AuthMiddleware) -> [any HTTPMiddleware] {
    var stack = map { ($0 as? any OwnedMiddleware)?.authenticated(by: authentication) ?? $0 }
    if let index = firstIndex(where: { $0 is AuthMiddleware }) {
      stack[index] = authentication
    } else {
      stack.insert(authentication, at: firstIndex { $0 is CircuitBreakerMiddleware } ?? endIndex)
    }
    return stack
  }
}
