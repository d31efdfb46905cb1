import HTTP

/// Logs a line of text for each attempt and retry of a request, its outcome, and how long it took.
struct AttemptLog: RequestObserver {
  let log: @Sendable (String) -> Void

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let name = request.operationName ?? "request"
    return { [log] event in
      if let line = Self.line(for: event) { log("\(name): \(line)") }
    }
  }

  private static func line(for event: RequestEvent) -> String? {
    switch event {
    case .attemptEnded(let attempt):
      let answer = [attempt.status.map { "status \($0)" }, failure(attempt.outcome)].compactMap { $0 }
      let head = attempt.firstByteTime.map { ", head after \(milliseconds($0))" } ?? ""
      return "attempt \(attempt.number): \(answer.joined(separator: ", "))\(head), \(milliseconds(attempt.duration))"
    case .retrying(let delay, let reason):
      return "again in \(milliseconds(delay)): \(reason.status.map { "status \($0)" } ?? reason.kind.description)"
    case .challenged: return "the token was rejected, getting a new one"
    case .ended(let summary):
      let bytes = "\(summary.sentBytes) bytes sent, \(summary.receivedBytes) received"
      let attempts = "\(summary.attemptCount) \(summary.attemptCount == 1 ? "attempt" : "attempts")"
      return "\(summary.outcome.label) after \(attempts), \(bytes), \(milliseconds(summary.duration))"
    default: return nil
    }
  }

  private static func failure(_ outcome: RequestOutcome) -> String? {
    if case .succeeded = outcome { nil } else { outcome.label }
  }

  private static func milliseconds(_ duration: Duration) -> String { "\(Int(duration / .milliseconds(1))) ms" }
}
