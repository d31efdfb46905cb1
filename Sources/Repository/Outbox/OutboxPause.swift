/// How long an outbox lets a server alone that has failed, unless it is told to flush: 2 seconds after the first attempt,
/// twice as long after each further one, and 128 at most.
struct OutboxPause {
  private var failures = 0
  private var beganAt: StoreTime?

  /// - Parameter attempts: How many have failed for what is sent, maybe in an earlier process.
  mutating func begin(attempts: Int, now: StoreTime) {
    failures = min(max(failures + 1, attempts), 7)
    beganAt = now
  }

  /// A beginning in the future tells nothing, as after a change of the clock.
  func isOver(now: StoreTime) -> Bool {
    guard let beganAt, beganAt <= now else { return true }
    return now - beganAt >= .seconds(1 << failures)
  }
}
