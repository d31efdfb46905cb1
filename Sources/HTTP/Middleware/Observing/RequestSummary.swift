/// A whole request, when it is over.
public struct RequestSummary: Sendable {
  /// How it ended; where a client reads the answer, that counts, too.
  public let outcome: RequestOutcome
  /// The status of the last answer, where there was one.
  public let status: Int?
  /// How often it was sent.
  public let attemptCount: Int
  /// The bytes of bodies, in all attempts.
  public let sentBytes: Int
  /// The bytes of answers' bodies, in all attempts.
  public let receivedBytes: Int
  /// How long it waited in line, in all.
  public let queueTime: Duration
  /// From the start to the end, waits and attempts included.
  public let duration: Duration
}
