package import Streams

/// Tells which deadline of an exchange comes next, and which has passed: pure, so that it can be tested without a
/// clock.
package struct ExchangeDeadlines {
  /// What an exchange is waiting for.
  package enum Phase {
    case connection, activity, completion
  }

  private var timeouts: HTTPTimeouts
  private let start: Instant
  /// When the wait for a connection began.
  private var waitStart: Instant
  private var lastActivity: Instant?

  package init(_ timeouts: HTTPTimeouts, start: Instant) {
    self.timeouts = timeouts
    self.start = start
    waitStart = start
  }

  /// Records that the connection is lost, and that the exchange waits for another one.
  package mutating func recordLoss(at instant: Instant) {
    waitStart = instant
    lastActivity = nil
  }

  /// Records that there is a connection, or that the server has sent something.
  package mutating func recordActivity(at instant: Instant) {
    lastActivity = instant
  }

  /// Records that the head of the response has been passed on, which may lift the default total.
  package mutating func record(_ head: HTTPResponseHead, for request: HTTPRequest) {
    if request.mayOutlastTotal(head) { timeouts.total = nil }
  }

  /// The deadline that comes first; `nil` if there is none.
  package var next: (phase: Phase, instant: Instant)? {
    let end = timeouts.total.map { (phase: Phase.completion, instant: start + $0) }
    let other =
      if let lastActivity {
        timeouts.idle.map { (phase: Phase.activity, instant: lastActivity + $0) }
      } else {
        timeouts.connect.map { (phase: Phase.connection, instant: waitStart + $0) }
      }
    guard let end, let other else { return end ?? other }
    return end.instant < other.instant ? end : other
  }

  /// The error for a deadline that has passed.
  package func error(for phase: Phase, _ request: HTTPRequest, reached: RequestError.Reach? = nil) -> RequestError {
    let (event, limit) =
      switch phase {
      case .connection: ("a connection to", timeouts.connect)
      case .activity: ("any activity of", timeouts.idle)
      case .completion: ("the complete response of", timeouts.total)
      }
    return .deadlinePassed(
      after: limit ?? .zero, waitingFor: event, request.target, operationName: request.operationName, reached: reached)
  }
}

extension RequestError {
  /// The error of a request's deadline: `event` is what did not come in time, with the preposition before the server.
  package static func deadlinePassed(
    after limit: Duration, waitingFor event: String = "the complete response of", _ target: HTTPTarget,
    operationName: String?, reached: Reach?
  ) -> RequestError {
    RequestError(
      .timedOut,
      "Timed out after \(limit) waiting for \(event) '\(target.url.shownSafely)': try again, or allow more time.",
      operationName: operationName, reached: reached)
  }
}

/// The smaller of two times or durations, either of which may be missing.
@inlinable package func earlier<Value: Comparable>(_ left: Value?, _ right: Value?) -> Value? {
  guard let left, let right else { return left ?? right }
  return min(left, right)
}
