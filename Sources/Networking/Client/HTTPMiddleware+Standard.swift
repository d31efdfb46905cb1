public import HTTP
public import Streams

extension [any HTTPMiddleware] {
  /// What a server process needs around its calls:
  ///
  ///     try APIClient(baseURL: url, middlewares: .standard(tokens: provider))
  ///
  /// The order, from the outside in, and why:
  ///
  /// 1. **Deadline**: its clock runs for all that follows; each of the others hands on what is left of the time.
  /// 2. **Retry**: starts every attempt anew through the rest; its pauses take no place in line. What the inner ones
  ///    refuse, an open circuit or a full line, it does not try again.
  /// 3. **Hedging**, where a delay is given: above the limit, as each hedge takes a place.
  /// 4. **Limit**: what waits here holds no token yet that could expire meanwhile.
  /// 5. **Redirects**, where some are to be followed: where the request that a redirect leads to needs a new token, that
  ///    one goes again, and not the first.
  /// 6. **Tokens**, where there is a provider: an attempt and its replay are one attempt to those above.
  /// 7. **Circuit breaker**: sees each exchange, and each outcome, as the server has it.
  ///
  /// Log with `APIClient.observer`, which sees all of it. A middleware that adds headers, or signs, stands last.
  ///
  /// - Parameters:
  ///   - tokens: Where tokens come from.
  ///   - challenge: Which answers reject a token.
  ///   - retries: How often to try again at most. With none, no answer is held back for it.
  ///   - budget: What retries and hedges may cost together.
  ///   - hedging: When a request is slow enough to be sent a second time; never unless given.
  ///   - concurrency: How many requests to an origin may be under way. To raise it, raise the transport's own limit,
  ///     too: a `SocketTransport` has 64 connections to each origin unless its `maximumConnectionsPerOrigin` is set.
  ///   - redirects: How many redirects to follow one after the other; none unless given.
  ///   - scheduler: Times all of it.
  public static func standard(
    tokens: (any TokenProvider)? = nil, challenge: AuthenticationChallenge = .graphQL, retries: Int = 2,
    budget: RetryBudget = RetryBudget(), hedging: HedgingDelay? = nil, concurrency: Int = 64, redirects: Int = 0,
    scheduler: some Scheduler = ConcurrentScheduler()
  ) -> [any HTTPMiddleware] {
    var stack: [any HTTPMiddleware] = [DeadlineMiddleware(scheduler: scheduler)]
    if retries > 0 {
      let policy = RetryPolicy.exponential(
        attempts: retries + 1, initial: .milliseconds(100), maximum: .seconds(10))
      stack.append(RetryMiddleware(policy: policy, budget: budget, scheduler: scheduler))
    }
    if let hedging { stack.append(HedgingMiddleware(after: hedging, budget: budget, scheduler: scheduler)) }
    stack.append(ConcurrencyLimitMiddleware(concurrency, scheduler: scheduler))
    if redirects > 0 { stack.append(RedirectMiddleware(limit: redirects, scheduler: scheduler)) }
    if let tokens { stack.append(AuthMiddleware(tokens, challenge: challenge, scheduler: scheduler)) }
    return stack + [CircuitBreakerMiddleware(scheduler: scheduler)]
  }
}
