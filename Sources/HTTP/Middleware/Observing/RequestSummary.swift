/// What became of a request, with all its attempts.
public struct RequestSummary: Sendable {
  /// How it ended; if a client decodes the response, a failure to decode counts, too.
  public let outcome: RequestOutcome
  /// The status of the last response, if there was one.
  public let status: Int?
  /// How often it was sent.
  public let attemptCount: Int
  /// The bytes of request bodies, over all attempts.
  public let sentBytes: Int
  /// The bytes of response bodies, over all attempts.
  public let receivedBytes: Int
  /// How long it waited in line, in total.
  public let queueTime: Duration
  /// From the start to the end, including waits and all attempts.
  public let duration: Duration

  /// Makes a summary, to test an observer with.
  public init(
    outcome: RequestOutcome, status: Int? = nil, attemptCount: Int = 1, sentBytes: Int = 0, receivedBytes: Int = 0,
    queueTime: Duration = .zero, duration: Duration = .zero
  ) {
    self.outcome = outcome
    self.status = status
    self.attemptCount = attemptCount
    self.sentBytes = sentBytes
    self.receivedBytes = receivedBytes
    self.queueTime = queueTime
    self.duration = duration
  }
}
