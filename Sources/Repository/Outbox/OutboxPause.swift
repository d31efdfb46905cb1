import HTTP

/// How long an outbox lets a server alone that has failed, unless it is told to flush: 2 seconds after the first attempt,
/// twice as long after each further one, and 128 at most.
struct OutboxPause {
  private var failures = 0
  private var last: (failure: RequestError, at: StoreTime)?

  /// - Parameter attempts: How many have failed for what is sent, maybe in an earlier process.
  mutating func begin(attempts: Int, because failure: RequestError, now: StoreTime) {
    failures = min(max(failures + 1, attempts), 7)
    last = (failure, now)
  }

  /// How the server has failed; `nil` once that is long enough ago. A beginning in the future tells nothing, as after a
  /// change of the clock.
  func reason(now: StoreTime) -> RequestError? {
    guard let last, last.at <= now, now - last.at < .seconds(1 << failures) else { return nil }
    return last.failure
  }
}
