/// What happened to a request. More cases may come: a `switch` over them needs a `default`.
public enum RequestEvent: Sendable {
  /// It waited in line for that long, and goes on.
  case dequeued(after: Duration)

  /// It is sent, for the first time or again; attempts are counted from 1, whatever they are made for.
  case attemptStarted(Int)

  /// An attempt is over.
  case attemptEnded(AttemptSummary)

  /// It will be sent again after a wait, for this reason.
  case retrying(after: Duration, reason: RequestError)

  /// It is slow, and is sent a second time beside the first.
  case hedging

  /// Its token was turned down: it waits for another one.
  case challenged

  /// The server sent it elsewhere within the origin, with this status.
  case redirected(Int)

  /// It is over.
  case ended(RequestSummary)
}

/// How something ended.
public enum RequestOutcome: Sendable {
  /// With the whole answer, whatever its status.
  case succeeded
  /// With an error.
  case failed(RequestError)
  /// Nobody waited for the end.
  case cancelled

  /// One word for logs and the labels of metrics: `succeeded`, `cancelled`, or the error's kind.
  public var label: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed(let error): error.kind.description
    case .cancelled: "cancelled"
    }
  }
}

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
