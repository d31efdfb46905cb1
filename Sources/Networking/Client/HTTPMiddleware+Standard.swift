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
  /// 3. **Limit**: what waits here holds no token yet that could expire meanwhile. A `HedgingMiddleware`, which
  ///    is not among the standard ones, stands right above, on the budget of the retries, as each hedge takes a place.
  /// 4. **Tokens**: an attempt and its replay are one attempt to those above. Left out without a provider. A
  ///    `RedirectMiddleware`, which is not among the standard ones either, stands right above: where the request
  ///    that a redirect leads to needs a new token, that one goes again, and not the first.
  /// 5. **Circuit breaker**: sees each exchange, and each outcome, as the server has it.
  ///
  /// Log with `APIClient.observer`, which sees all of it. A middleware that adds headers, or signs, stands last.
  public static func standard(
    tokens: (any TokenProvider)? = nil, retries: Int = 2, concurrency: Int = 64,
    scheduler: some Scheduler = ConcurrentScheduler()
  ) -> [any HTTPMiddleware] {
    let stack: [(any HTTPMiddleware)?] = [
      DeadlineMiddleware(scheduler: scheduler),
      RetryMiddleware(
        policy: .exponential(attempts: retries + 1, initial: .milliseconds(100), maximum: .seconds(10)),
        scheduler: scheduler),
      ConcurrencyLimitMiddleware(concurrency, scheduler: scheduler),
      tokens.map { AuthMiddleware($0, challenge: .graphQL, scheduler: scheduler) },
      CircuitBreakerMiddleware(scheduler: scheduler),
    ]
    return stack.compactMap { $0 }
  }
}
