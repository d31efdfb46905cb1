/// Decides which request starts a refresh of the token, and which requests wait for it: a pure state machine, without
/// locks and streams.
///
///     idle ── first request in need: start ──► refreshing ── ended, well or not ──► idle
///                                               ▲ others in need: join
///
/// Refreshes are counted. A request records how many had ended when it took its token; if more have ended since, it
/// gets the outcome of the last one, so that a late response for an old token starts no further refresh. A refresh
/// ahead of expiry that fails, and that no request waited for, does not count.
struct RefreshState<Flight: Sendable, Token: Sendable>: Sendable {
  enum Decision {
    case start(Flight)
    case join(Flight)
    case settled(Result<Token, any Error>)
  }

  private(set) var endedCount = 0
  private(set) var flight: Flight?
  private var isNeeded = false
  private var outcome: Result<Token, any Error>?

  /// What to do for a request whose token, taken after `seen` refreshes had ended, was rejected, or (`isAhead`) is to
  /// be renewed ahead of expiry.
  mutating func need(seen: Int, isAhead: Bool, makeFlight: () -> Flight) -> Decision {
    if let flight {
      isNeeded = isNeeded || !isAhead
      return .join(flight)
    }
    if seen < endedCount, let outcome { return .settled(outcome) }
    let new = makeFlight()
    flight = new
    isNeeded = !isAhead
    return .start(new)
  }

  /// Records the outcome of the running refresh.
  mutating func end(_ outcome: Result<Token, any Error>) {
    flight = nil
    if case .failure = outcome, !isNeeded { return }
    self.outcome = outcome
    endedCount += 1
  }
}
