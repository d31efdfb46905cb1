import Streams
public import SystemBase

/// The error of a request: the only error type that transports, middlewares, clients and sessions send.
///
/// The kind is for code that handles the error; the message says what happened, where, and what may help. Text from a
/// server is limited in length, cleared of the request's secrets, and sanitized for terminals and logs.
public struct RequestError: Error {
  /// What kind of failure it is, for programs to switch on.
  public var kind: Kind

  /// One line for people: what happened, where, and what to do.
  public var message: String

  /// The operation that failed, such as `getUser`, if it is known.
  public var operationName: String?

  /// The HTTP status of the response, if there was one; with `cannotConnect`, of the proxy's.
  public var status: Int?

  /// How long the server asks to wait before the next request, by `Retry-After` (RFC 9110, section 10.2.3); `nil` if it
  /// does not.
  public var retryAfter: Duration?

  /// The start of the response's body, at most 512 bytes, if it helps to see it.
  public var excerpt: String?

  /// The error behind this one.
  public var cause: (any Error)?

  /// What became of the request, by which others decide whether it may be sent again.
  ///
  /// Unless it is set, the kind, the status and the cause tell: `never` without a connection, and for what this side
  /// held back; `rejected` for the statuses by which a server declines a request unprocessed: 401, 425 and 429 (RFC
  /// 9110, section 15.5.2; RFC 8470, section 5.2; RFC 6585, section 4); else what a ``ReachingCause`` says, or `maybe`.
  /// Of a request that is ``HTTPRequest/isReplayable`` it describes the last attempt: an earlier one may have reached
  /// the server, so send it again only under the same idempotency key.
  public var reached: Reach {
    get {
      if let knownReach { return knownReach }
      if kind.isHeldBack { return .never }
      return status.isRejection ? .rejected : (cause as? any ReachingCause)?.reached ?? .maybe
    }
    set { knownReach = newValue }
  }

  private var knownReach: Reach?

  /// Makes an error. The message is cut at 1,024 bytes and the excerpt at 512, and their control characters are made
  /// visible. Without `reached`, the kind and the status tell, see ``reached``.
  public init(
    _ kind: Kind, _ message: String, operationName: String? = nil, status: Int? = nil, excerpt: String? = nil,
    cause: (any Error)? = nil, reached: Reach? = nil
  ) {
    self.kind = kind
    self.message = message.sanitized(upTo: 1024)
    self.operationName = operationName
    self.status = status
    self.excerpt = excerpt?.sanitized(upTo: 512)
    self.cause = cause
    knownReach = reached
  }

  /// The error with the name of an operation, unless it already has one.
  public func named(_ operationName: String?) -> RequestError {
    var named = self
    named.operationName = self.operationName ?? operationName
    return named
  }

  /// The given error if it is a `RequestError`; otherwise an error of the kind `cancelled`, `timedOut` (for the
  /// operator `timeout`) or `unknown` with the given error as its cause.
  public init(wrapping error: any Error) {
    self =
      switch error {
      case let error as RequestError: error
      case is CancellationError: RequestError(.cancelled, "The request was cancelled.", cause: error)
      case StreamError.timeout: RequestError(.timedOut, String(describing: error), cause: error)
      // Its own description holds the value's, and that of a date which is no number traps.
      case EncodingError.invalidValue(_, let context):
        RequestError(.unknown, "A value cannot be encoded: \(context.debugDescription)", cause: error)
      default: RequestError(.unknown, String(describing: error), cause: error)
      }
  }
}

extension RequestError: CustomStringConvertible {
  /// The operation, the kind and the message in one line.
  public var description: String {
    let operation = operationName.map { "\($0.sanitized(upTo: 128)): " } ?? ""
    guard let excerpt else { return "\(operation)\(kind): \(message)" }
    let stop = message.last.map { ".!?…".contains($0) } ?? true ? "" : "."
    return "\(operation)\(kind): \(message)\(stop) The response begins: \(excerpt)"
  }
}

extension RequestError: Hashable {
  /// Whether two errors say the same. Their causes count as equal if they are of one type and have one description.
  public static func == (left: RequestError, right: RequestError) -> Bool {
    left.kind == right.kind && left.message == right.message && left.operationName == right.operationName
      && left.status == right.status && left.retryAfter == right.retryAfter && left.excerpt == right.excerpt
      && left.reached == right.reached && left.cause.isSame(as: right.cause)
  }

  /// Hashes the kind, the message and the status.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(message)
    hasher.combine(status)
  }
}

extension (any Error)? {
  /// Whether two errors count as equal where values hold errors of any type: if they are of one type and, unless they are
  /// request errors, which have an `==`, have one description.
  package func isSame(as other: (any Error)?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    guard type(of: self) == type(of: other) else { return false }
    return switch (self, other) {
    case (let left as RequestError, let right as RequestError): left == right
    case (let left as EncodingError, let right as EncodingError): left.text == right.text
    default: String(describing: self) == String(describing: other)
    }
  }
}

extension EncodingError {
  /// What is wrong, without the value: the description of a date that is no number traps.
  fileprivate var text: String { if case .invalidValue(_, let context) = self { context.debugDescription } else { "" } }
}

extension RequestError: LocalizedError {
  /// What `localizedDescription` gives: the description.
  public var errorDescription: String? { description }
}

extension RequestError {
  /// A kind of failure, for programs to switch on. Kinds may be added: a `switch` over them needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name, as logs and command lines show it.
    public let description: String

    /// Makes a kind, for layers that have failures of their own.
    public init(_ name: StaticString) {
      description = "\(name)"
    }

    /// The kind with a name that was recorded.
    package init(recorded name: String) {
      description = name
    }

    /// The request cannot be sent as it is: a URL, a header or a method is not valid, or not allowed.
    public static let invalidRequest = Kind("invalid request")

    /// There is no connection: unknown host, refused, or unreachable.
    public static let cannotConnect = Kind("cannot connect")

    /// The secure connection could not be made, or the server could not be verified.
    public static let insecure = Kind("secure connection failed")

    /// The connection ended before the whole response had arrived.
    public static let connectionLost = Kind("connection lost")

    /// A deadline passed; the message names which.
    public static let timedOut = Kind("timed out")

    /// The response is not HTTP, or in a form that was not requested.
    public static let badResponse = Kind("bad response")

    /// The status of the response does not mean success; `status` holds it.
    public static let httpStatus = Kind("HTTP status")

    /// The server redirected the request, and the redirect is not followed.
    public static let redirectRefused = Kind("redirect refused")

    /// The response is larger than the limit.
    public static let tooLarge = Kind("too large")

    /// The response cannot be written to its file.
    public static let cannotWrite = Kind("cannot write")

    /// A file of the request's body cannot be read, or has changed since the request was made.
    public static let cannotRead = Kind("cannot read")

    /// The response cannot be decoded as the expected type; the message names the path in it.
    public static let undecodable = Kind("not decodable")

    /// The request was cancelled.
    public static let cancelled = Kind("cancelled")

    /// Too many requests are running in this process; this one was not sent.
    public static let overloaded = Kind("overloaded")

    /// The server takes no further request for now, as it limits their rate: `retryAfter` says for how long. This one was
    /// refused, or not sent.
    public static let rateLimited = Kind("rate limited")

    /// A circuit breaker is open; the request was not sent.
    public static let circuitOpen = Kind("circuit open")

    /// The process was forked from one in which a transport had run, and cannot send requests: it has no threads for
    /// it. Start processes with `posix_spawn`, `exec` or Foundation's `Process`, or fork before the first request.
    public static let forkedProcess = Kind("forked process")

    /// None of the others; see `cause`.
    public static let unknown = Kind("unknown")
  }
}

extension RequestError {
  /// Whether the server, or the way to it, is out of order for now, and says nothing about the request: there is no
  /// connection, it broke, a deadline passed, this side held the request back, or the status is 408, 429, 500, 502, 503
  /// or 504 (RFC 5861, section 4).
  public var isOutage: Bool {
    switch kind {
    case .cannotConnect, .connectionLost, .timedOut, .circuitOpen, .overloaded, .rateLimited: true
    default: [408, 429, 500, 502, 503, 504].contains(status)
    }
  }

  /// How far a request has come on its way to being carried out.
  public enum Reach: Hashable, Sendable {
    /// No byte of it has reached the server, or ever will, so even a payment can be sent again: there was no
    /// connection, the request was held back on this side, or a deadline passed or the connection ended before it was
    /// sent.
    case never

    /// The server may have received it and carried it out.
    case maybe

    /// The server has declined it without carrying it out, or it was not sent for want of a token.
    case rejected
  }
}

extension RequestError.Kind {
  /// Whether a request that fails in this way has not left this machine.
  fileprivate var isHeldBack: Bool {
    switch self {
    case .invalidRequest, .cannotConnect, .circuitOpen, .overloaded, .forkedProcess: true
    default: false
    }
  }
}

extension Int? {
  /// Whether it is a status by which a server declines a request unprocessed.
  fileprivate var isRejection: Bool { self == 401 || self == 425 || self == 429 }
}

/// The cause of an `invalidRequest` that is due to a client's settings, not to the request: with other settings it
/// could be sent.
package struct WrongSettings: Error {
  package init() {}
}

/// A cause that knows what became of the request, see ``RequestError/reached``.
public protocol ReachingCause: Error {
  /// What became of the request; `nil` if the cause does not tell.
  var reached: RequestError.Reach? { get }
}

/// The cause of a request's error if it was not sent, or was rejected, because its token could not be refreshed.
public struct TokenRefreshFailure: ReachingCause, Hashable, CustomStringConvertible {
  /// Why the token could not be refreshed, without what the response to the refresh contained.
  public let error: RequestError

  /// Makes the cause.
  public init(_ error: RequestError) {
    self.error = error
  }

  /// One line for people.
  public var description: String { "The token could not be refreshed: \(error)" }

  /// The request was rejected, or not sent.
  public var reached: RequestError.Reach? { .rejected }
}
