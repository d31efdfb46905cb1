/// What is known about one attempt.
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

  /// Records a connection. If a transport reports it at once, its second report, on a queue, may come late and is
  /// ignored.
  func noteConnection(_ isReused: Bool, at now: Duration, isToldAtOnce: Bool) {
    state.withLock { state in
      guard isToldAtOnce || !state.isToldAtOnce else { return }
      state.isToldAtOnce = isToldAtOnce
      // A connection that replaces a lost one is the one that the response comes on.
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

  /// Returns the summary the first time, `nil` afterwards.
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
