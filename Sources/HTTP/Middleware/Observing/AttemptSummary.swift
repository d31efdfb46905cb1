/// What became of one attempt.
public struct AttemptSummary: Sendable {
  /// The number of the attempt, from 1.
  public let number: Int
  /// How it ended.
  public let outcome: RequestOutcome
  /// The status, if there was a head.
  public let status: Int?
  /// The size of the request's body in bytes.
  public let sentBytes: Int
  /// The bytes of the response's body, after decompression.
  public let receivedBytes: Int
  /// From the start until there was a connection, if the transport reports it.
  public let connectTime: Duration?
  /// Whether the connection had already carried a request, if the transport reports it.
  public let isConnectionReused: Bool?
  /// From the start to the head of the response.
  public let firstByteTime: Duration?
  /// From the head to the end.
  public let bodyTime: Duration?
  /// From the start to the end.
  public let duration: Duration

  /// Makes a summary, to test an observer with.
  public init(
    number: Int = 1, outcome: RequestOutcome, status: Int? = nil, sentBytes: Int = 0, receivedBytes: Int = 0,
    connectTime: Duration? = nil, isConnectionReused: Bool? = nil, firstByteTime: Duration? = nil,
    bodyTime: Duration? = nil, duration: Duration = .zero
  ) {
    self.number = number
    self.outcome = outcome
    self.status = status
    self.sentBytes = sentBytes
    self.receivedBytes = receivedBytes
    self.connectTime = connectTime
    self.isConnectionReused = isConnectionReused
    self.firstByteTime = firstByteTime
    self.bodyTime = bodyTime
    self.duration = duration
  }
}
