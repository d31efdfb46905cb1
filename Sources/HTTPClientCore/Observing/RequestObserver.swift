/// Receives what happens to requests, for logs, metrics and traces.
///
///     struct Counter: RequestObserver {
///       func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
///         let name = request.operationName ?? "unnamed"
///         return { event in
///           if case .ended(let summary) = event { count(name, summary.status, summary.duration) }
///         }
///       }
///     }
///
/// Events contain no secrets: no body, no header value and no query, and errors are redacted. The request itself, which
/// `begin` gets, may contain secrets.
public protocol RequestObserver: Sendable {
  /// Called when a request begins, on the subscribing thread, so the subscriber's task-local values are available. It
  /// may change header fields: a tracer puts its context there, such as a ``TraceContext``. The SDK sends none by
  /// itself: a `traceparent` without a tracer behind it would make servers record a trace that has no beginning.
  ///
  /// The closure that it returns is called with each event of this request, one at a time, on the threads of the
  /// exchanges; it must not block. The last event is always `ended`, and comes exactly once.
  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void
}

/// Combines several observers; they are called in order, as is what each sets as ``HTTPRequest/onAttempt``.
public struct RequestObservers: RequestObserver {
  private let observers: [any RequestObserver]

  /// Takes the observers.
  public init(_ observers: [any RequestObserver]) {
    self.observers = observers
  }

  /// Calls `begin` of all observers, and passes each event to all of them.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    var listeners: [@Sendable (RequestEvent) -> Void] = []
    var onAttempts = request.onAttempt.map { [$0] } ?? []
    for observer in observers {
      // Each sets its own, and would replace that of the one before.
      if request.onAttempt != nil { request.onAttempt = nil }
      listeners.append(observer.begin(&request))
      if let onAttempt = request.onAttempt { onAttempts.append(onAttempt) }
    }
    if !onAttempts.isEmpty {
      request.onAttempt = { [onAttempts] number, request in
        for onAttempt in onAttempts { onAttempt(number, &request) }
      }
    }
    return { [listeners] event in for listener in listeners { listener(event) } }
  }
}

/// An event in the life of a request. Cases may be added, so a `switch` over them needs a `default`.
@nonexhaustive
public enum RequestEvent: Hashable, Sendable {
  /// It has waited in line for this long, and continues.
  case dequeued(after: Duration)

  /// It is sent, for the first time or again. Attempts are counted from 1, whatever their reason.
  case attemptStarted(Int)

  /// An attempt is over.
  case attemptEnded(AttemptSummary)

  /// It will be sent again after a pause, for this reason.
  case retrying(after: Duration, reason: RequestError)

  /// It is slow, and is sent a second time in parallel.
  case hedging

  /// Its token was rejected; it waits for another one.
  case challenged

  /// It was redirected within its origin, with this status.
  case redirected(Int)

  /// A cache in this process has its response: the source says how old it is, and whether the server has confirmed it.
  case servedFromCache(HTTPResponseSource)

  /// It is over.
  case ended(RequestSummary)
}

/// What became of a request, with all its attempts.
public struct RequestSummary: Hashable, Sendable {
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
  /// Where the response came from.
  public let source: HTTPResponseSource

  /// Makes a summary, to test an observer with.
  public init(
    outcome: RequestOutcome, status: Int? = nil, attemptCount: Int = 1, sentBytes: Int = 0, receivedBytes: Int = 0,
    queueTime: Duration = .zero, duration: Duration = .zero, source: HTTPResponseSource = .network
  ) {
    self.outcome = outcome
    self.status = status
    self.attemptCount = attemptCount
    self.sentBytes = sentBytes
    self.receivedBytes = receivedBytes
    self.queueTime = queueTime
    self.duration = duration
    self.source = source
  }
}

/// What became of one attempt.
public struct AttemptSummary: Hashable, Sendable {
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
  /// How the connection was opened that this attempt was the first to use, if the transport reports it.
  public let connectionOpening: ConnectionOpeningTimes?
  /// The version of HTTP that was spoken, such as `1.1`, if the transport reports it.
  public let httpVersion: String?
  /// From the start to the head of the response.
  public let firstByteTime: Duration?
  /// From the head to the end.
  public let bodyTime: Duration?
  /// From the start to the end.
  public let duration: Duration

  /// Makes a summary, to test an observer with.
  public init(
    number: Int = 1, outcome: RequestOutcome, status: Int? = nil, sentBytes: Int = 0, receivedBytes: Int = 0,
    connectTime: Duration? = nil, isConnectionReused: Bool? = nil, connectionOpening: ConnectionOpeningTimes? = nil,
    httpVersion: String? = nil, firstByteTime: Duration? = nil, bodyTime: Duration? = nil, duration: Duration = .zero
  ) {
    self.number = number
    self.outcome = outcome
    self.status = status
    self.sentBytes = sentBytes
    self.receivedBytes = receivedBytes
    self.connectTime = connectTime
    self.isConnectionReused = isConnectionReused
    self.connectionOpening = connectionOpening
    self.httpVersion = httpVersion
    self.firstByteTime = firstByteTime
    self.bodyTime = bodyTime
    self.duration = duration
  }
}

/// How a request or an attempt ended.
public enum RequestOutcome: Hashable, Sendable {
  /// The whole response arrived, whatever its status.
  case succeeded
  /// It failed with an error.
  case failed(RequestError)
  /// It was cancelled.
  case cancelled

  /// Whether a deadline passed.
  var isTimeOver: Bool { if case .failed(let error) = self { error.kind == .timedOut } else { false } }

  /// A label for logs and metrics: `succeeded`, `cancelled`, or the name of the error's kind.
  public var label: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed(let error): error.kind.description
    case .cancelled: "cancelled"
    }
  }
}

extension RequestOutcome: CustomStringConvertible {
  /// `succeeded`, `cancelled`, or the error.
  public var description: String { if case .failed(let error) = self { "failed: \(error)" } else { label } }
}

extension RequestSummary: CustomStringConvertible {
  /// One line: how it ended, the status, the number of attempts, the bytes and the time.
  public var description: String {
    "\(outcome)\(status.map { " with status \($0)" } ?? "") after \(duration), attempts: \(attemptCount), "
      + "bytes sent: \(sentBytes), received: \(receivedBytes)"
  }
}

extension AttemptSummary: CustomStringConvertible {
  /// One line: the number, how it ended, the status, the bytes and the time.
  public var description: String {
    "attempt \(number) \(outcome)\(status.map { " with status \($0)" } ?? "") after \(duration), "
      + "bytes sent: \(sentBytes), received: \(receivedBytes)"
  }
}
