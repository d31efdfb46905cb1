import HTTP

/// How long an outbox waits after a failed attempt, unless told to flush: 2 seconds after the first, twice as long
/// after each further one, and at most 128.
struct OutboxPause {
  private var failures = 0
  private var last: (failure: RequestError, at: StoreTime)?

  /// - Parameter attempts: How many attempts at the entry have failed, including those of earlier processes.
  mutating func begin(attempts: Int, because failure: RequestError, now: StoreTime) {
    failures = min(max(failures + 1, attempts), 7)
    last = (failure, now)
  }

  /// The failure that the outbox pauses for; `nil` once the pause is over. If the pause began in the future, as after
  /// the clock was set back, there is none.
  func reason(now: StoreTime) -> RequestError? {
    guard let last, last.at <= now, now - last.at < .seconds(1 << failures) else { return nil }
    return last.failure
  }
}
