/// Tells which deadline of an exchange comes next, and which has passed: pure, so that it can be tested without a
/// clock.
package struct ExchangeDeadlines {
  /// What an exchange is waiting for.
  package enum Phase {
    case connection, answer, end
  }

  private var timeouts: HTTPTimeouts
  private let start: Instant
  /// When the wait for a connection began.
  private var waitStart: Instant
  private var lastSign: Instant?

  package init(_ timeouts: HTTPTimeouts, start: Instant) {
    self.timeouts = timeouts
    self.start = start
    waitStart = start
  }

  /// Records that the connection is lost, and that the exchange waits for another one.
  package mutating func noteLoss(at instant: Instant) {
    waitStart = instant
    lastSign = nil
  }

  /// Records that there is a connection, or that the server has sent something.
  package mutating func noteSign(at instant: Instant) {
    lastSign = instant
  }

  /// Records that the head of the response has been passed on, which may lift the default total.
  package mutating func note(_ head: HTTPResponseHead, for request: HTTPRequest) {
    if request.mayOutlastTotal(head) { timeouts.total = nil }
  }

  /// The deadline that comes first; `nil` if there is none.
  package var next: (phase: Phase, instant: Instant)? {
    let end = timeouts.total.map { (phase: Phase.end, instant: start + $0) }
    let other =
      if let lastSign {
        timeouts.idle.map { (phase: Phase.answer, instant: lastSign + $0) }
      } else {
        timeouts.connect.map { (phase: Phase.connection, instant: waitStart + $0) }
      }
    guard let end, let other else { return end ?? other }
    return end.instant < other.instant ? end : other
  }

  /// The error for a deadline that has passed.
  package func error(for phase: Phase, _ request: HTTPRequest, reached: RequestError.Reach? = nil) -> RequestError {
    let (what, limit) =
      switch phase {
      case .connection: ("no connection", timeouts.connect)
      case .answer: ("no sign of life", timeouts.idle)
      case .end: ("no whole answer", timeouts.total)
      }
    let place = request.url.shownSafely
    return RequestError(
      .timedOut, "After \(limit ?? .zero) there was \(what) from '\(place)': try again, or allow more time.",
      operationName: request.operationName, reached: reached)
  }
}

/// The smaller of two times or durations, either of which may be missing.
package func earlier<Value: Comparable>(_ left: Value?, _ right: Value?) -> Value? {
  guard let left, let right else { return left ?? right }
  return min(left, right)
}
