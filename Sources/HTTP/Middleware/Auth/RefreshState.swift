/// Decides which request starts a refresh of the token, and which requests wait for it: a pure state machine, without
/// locks and streams.
///
///     idle ── first request in need: start ──► refreshing ── ended, well or not ──► idle
///                                               ▲ others in need: join
///
/// Refreshes are counted. A request records how many had ended when it took its token; if more have ended since, it
/// gets the outcome of the last one, so that a late response for an old token starts no further refresh. A refresh
/// ahead of expiry that fails, and that no request waited for, does not count.
///
/// A refresh that has failed twice in a row is not repeated before a pause, which doubles from failure to failure:
/// until then, whoever needs it gets the last error at once. A refresh ahead of expiry pauses after one failure. A
/// sign-in, which brings another token, ends the pause.
struct RefreshState<Flight: Sendable, Token: Sendable>: Sendable {
  enum Decision {
    case start(Flight)
    case join(Flight)
    case settled(Result<Token, any Error>)
  }

  /// The failures in a row.
  struct Failures: Sendable {
    let count: Int
    let error: any Error
    /// The hash of the token that was to be replaced: a dump would show its value (S3).
    let old: Int?
    let pausedUntil: Duration
  }

  private static var longestPause: Int { 60 }

  private(set) var endedCount = 0
  private(set) var failures: Failures?
  private(set) var flight: Flight?
  private var isNeeded = false
  private var old: Int?
  private var outcome: Result<Token, any Error>?

  /// What to do for a request whose token, taken after `seen` refreshes had ended, was rejected, or (`isAhead`) is to
  /// be renewed ahead of expiry. `old` is that token's value.
  mutating func need(
    seen: Int, isAhead: Bool, replacing old: String?, at now: Duration, makeFlight: () -> Flight
  ) -> Decision {
    if let flight {
      isNeeded = isNeeded || !isAhead
      return .join(flight)
    }
    if seen < endedCount, let outcome { return .settled(outcome) }
    let old = old?.hashValue
    if let failures, failures.old == old, isAhead || failures.count > 1, now < failures.pausedUntil {
      return .settled(.failure(failures.error))
    }
    self.old = old
    let new = makeFlight()
    flight = new
    isNeeded = !isAhead
    return .start(new)
  }

  /// Records the outcome of the running refresh.
  mutating func end(_ outcome: Result<Token, any Error>, at now: Duration) {
    flight = nil
    switch outcome {
    case .success: failures = nil
    case .failure(let error):
      let count = failures.map { $0.old == old ? $0.count + 1 : 1 } ?? 1
      let pause = min(1 << min(count - 1, 6), Self.longestPause)
      failures = Failures(count: count, error: error, old: old, pausedUntil: now + .seconds(pause))
      guard isNeeded else { return }
    }
    self.outcome = outcome
    endedCount += 1
  }
}
