/// One attempt, when it is over.
public struct AttemptSummary: Sendable {
  /// Which one it was, from 1.
  public let number: Int
  /// How it ended.
  public let outcome: RequestOutcome
  /// The status, where there was a head.
  public let status: Int?
  /// The bytes of the request's body.
  public let sentBytes: Int
  /// The bytes of the answer's body, as they were handed on.
  public let receivedBytes: Int
  /// From the start until there was a connection, where the transport tells.
  public let connectTime: Duration?
  /// Whether the connection had carried a request before, where the transport tells.
  public let isConnectionReused: Bool?
  /// From the start to the head.
  public let firstByteTime: Duration?
  /// From the head to the end.
  public let bodyTime: Duration?
  /// From the start to the end.
  public let duration: Duration
}
