/// What is seen of one attempt.
final class AttemptObservation: Sendable {
  private struct State {
    var status: Int?
    var receivedBytes = 0
    var connection: (isReused: Bool, at: Duration)?
    var isToldAtOnce = false
    var headAt: Duration?
    var isOver = false
  }

  let number: Int
  private let sentBytes: Int
  private let start: Duration
  private let state = Locked(State())

  init(_ number: Int, sentBytes: Int, start: Duration) {
    self.number = number
    self.sentBytes = sentBytes
    self.start = start
  }

  /// Notes a connection. Where a transport tells at once, what it tells on a queue as well may come late, and is no news.
  func noteConnection(_ isReused: Bool, at now: Duration, isToldAtOnce: Bool) {
    state.withLock { state in
      guard isToldAtOnce || !state.isToldAtOnce else { return }
      state.isToldAtOnce = isToldAtOnce
      // One that takes the place of a connection that was lost is the one that answers.
      if state.headAt == nil { state.connection = (isReused, now) }
    }
  }

  func note(_ part: HTTPResponsePart, at now: Duration) {
    state.withLock { state in
      switch part {
      case .head(let head): (state.status, state.headAt) = (head.status, now)
      case .body(let piece): state.receivedBytes += piece.count
      }
    }
  }

  /// The summary, once.
  func end(_ outcome: RequestOutcome, at now: Duration) -> AttemptSummary? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      state.isOver = true
      return AttemptSummary(
        number: number, outcome: outcome, status: state.status, sentBytes: sentBytes,
        receivedBytes: state.receivedBytes, connectTime: state.connection.map { $0.at - start },
        isConnectionReused: state.connection?.isReused, firstByteTime: state.headAt.map { $0 - start },
        bodyTime: state.headAt.map { now - $0 }, duration: now - start)
    }
  }
}
