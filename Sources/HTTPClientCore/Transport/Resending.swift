extension HTTPRequest {
  /// Whether sending this request again does no harm, given what became of the last attempt. Everything that resends
  /// asks this:
  ///
  /// | the failed attempt | `isReplayable` | may be sent again |
  /// |---|---|---|
  /// | `never` reached the server | any | yes |
  /// | was `rejected` unprocessed | any | yes, once what it was rejected for has changed |
  /// | `maybe` was carried out | true | yes |
  /// | `maybe` was carried out | false | no |
  ///
  /// A body that is read from a stream goes out again only if the stream opens again, or was not opened yet.
  ///
  /// On top of that, each has a reason of its own to try at all, and a limit. Attempts are counted for all of them
  /// together, and none goes beyond the limit of the outermost `RetryMiddleware`:
  ///
  /// | who resends | for what reason | how often |
  /// |---|---|---|
  /// | a transport | a kept connection turned out to be dead | at once, twice if it may have been carried out |
  /// | `RetryMiddleware` | a transient failure, if the request may be sent again after `maybe` | by policy, budget and deadline |
  /// | `RateLimitMiddleware` | a limited rate, after the wait; counts as `maybe` | twice, within the budget |
  /// | `HedgingMiddleware` | a slow response (`maybe`), unless there is an idempotency key | once, within the budget |
  ///
  /// These are steps of a protocol, and do not count as attempts:
  ///
  /// | who sends | for what reason | how often |
  /// |---|---|---|
  /// | `AuthMiddleware` | a challenge, with another token of the same account | once; more often as an attempt |
  /// | `RedirectMiddleware` | a redirect within the origin | by its limit |
  /// | a client | a document after a hash that the server does not know, or a query after a batch that it refused | once |
  ///
  /// And beyond a single request:
  ///
  /// | who resends | for what reason | how often |
  /// |---|---|---|
  /// | `Outbox` | an outage; if `maybe`, with the same idempotency key | for at least an hour |
  ///
  /// All delays come from a `Backoff` (of the module Streams) or from `Retry-After`.
  public func mayBeSentAgain(after reach: RequestError.Reach) -> Bool {
    switch reach {
    case .never, .rejected: upload?.isIntact ?? true
    case .maybe: isReplayable && upload?.opensAgain ?? true
    }
  }
}
