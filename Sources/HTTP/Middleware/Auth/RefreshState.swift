/// Which of the requests that need a new token gets it, and how; pure, and apart from locks and streams.
///
///     idle ── first request in need: start ──► refreshing ── ended, well or not ──► idle
///                                               ▲ others in need: join
///
/// Refreshes are counted. A request notes how many had ended when it took its token; where more have since, the last
/// one's outcome is the request's, too: a late answer under an old token starts no further refresh. One ahead of need that
/// fails, and that nobody waited for, is as if it had not been.
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

  /// What a request has to do whose token, taken after `seen` refreshes had ended, was rejected, or is to be renewed ahead
  /// of that.
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

  /// Notes the end of the refresh under way.
  mutating func end(_ outcome: Result<Token, any Error>) {
    flight = nil
    if case .failure = outcome, !isNeeded { return }
    self.outcome = outcome
    endedCount += 1
  }
}
