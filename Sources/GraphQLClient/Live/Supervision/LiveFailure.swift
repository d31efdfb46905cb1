public import HTTPClientCore
import Streams
import StrictJSON
import SystemBase

/// Why a live connection, or an operation on it, ended, and what can be done about it.
struct LiveFailure: Error {
  enum Remedy: Hashable {
    /// Another attempt may succeed.
    case retry
    /// The token was rejected: another attempt, with a new one, may succeed.
    case refreshToken
    /// Another attempt would end in the same way.
    case none
  }

  var error: RequestError
  var remedy: Remedy
  /// The close code that tells the server, where this side ends the connection.
  var closeCode: UInt16 = 1000
  /// Whether a result says it, so that the operation continues at the server until this side completes it.
  var isResult = false

  init(_ error: RequestError, _ remedy: Remedy, closeCode: UInt16 = 1000) {
    self.error = error
    self.remedy = remedy
    self.closeCode = closeCode
  }
}

extension LiveFailure {
  /// The server closed a WebSocket.
  ///
  /// The codes are those of `graphql-transport-ws`, of which the fatal ones are the client's or the server's mistakes,
  /// and those of RFC 6455, section 7.4.1, of which the ones that pass are 1000, 1001, 1005, 1006 and 1012 to 1014.
  init(closedWith code: UInt16, reason: String) {
    let remedy: Remedy =
      switch code {
      case 4401, 4403: .refreshToken
      case 4500, 4005, 4400, 4004, 4406, 4409, 4429: .none
      case 1000, 1001, 1005, 1006, 1012...1014: .retry
      case 1002...1999: .none
      default: .retry
      }
    let said = reason.isEmpty ? "" : ": \(reason)"
    let cause = LiveClosure(code: code, reason: reason)
    self.init(
      RequestError(
        remedy == .retry ? .connectionLost : .closed, "The server closed the live connection with code \(code)\(said)",
        cause: cause), remedy)
  }

  /// Whether a middleware has held the request back until the server's limit allows it.
  var isHeldBack: Bool { error.kind == .rateLimited && error.reached == .never }

  /// There is no connection, the server refused it, or it broke.
  init(_ error: RequestError) {
    let remedy: Remedy =
      switch error.kind {
      case _ where error.cause is TransportShutdown: .none
      case .connectionLost, .timedOut, .circuitOpen, .overloaded, .rateLimited: .retry
      case _ where error.cause is TokenRefreshFailure: error.isOutage ? .retry : .none
      case .cannotConnect: error.status.map(Self.passes) ?? true ? .retry : .none
      case .httpStatus: Self.remedy(of: error, with: error.status)
      case .graphQL:
        switch (Self.remedy(of: error.graphQLErrors), error.status) {
        case (.none, 401?), (.none, 403?), (.none, 425?), (.none, 429?), (.none, 503?):
          Self.remedy(of: error, with: error.status)
        case (let remedy, _): remedy
        }
      default: .none
      }
    self.init(error, remedy)
  }

  /// A 403 with `Retry-After` limits the rate of requests, as GitHub does, and rejects no token.
  private static func remedy(of error: RequestError, with status: Int?) -> Remedy {
    switch status {
    case 401: .refreshToken
    case 403: error.retryAfter == nil ? .refreshToken : .retry
    default: status.map(passes) ?? false ? .retry : .none
    }
  }

  /// The statuses after which a server may let the client in later.
  private static func passes(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505...508, 510, 511: false
    default: status >= 500
    }
  }

  /// The server ended an operation with errors. The codes beside `UNAUTHENTICATED` are Apollo Router's and
  /// AWS AppSync's.
  static func remedy(of errors: [GraphQLError]) -> Remedy {
    for error in errors {
      switch error.code {
      case GraphQLError.unauthenticatedCode, "SUBSCRIPTION_JWT_EXPIRED", "UnauthorizedException":
        return .refreshToken
      case "SUBSCRIPTION_SCHEMA_RELOAD", "SUBSCRIPTION_CONFIG_RELOAD", "SUBSCRIPTION_MAX_LIMIT",
        "WEBSOCKET_CLOSE_ERROR":
        return .retry
      default: continue
      }
    }
    return .none
  }

  /// The connection ended before the server said that the operation is complete.
  static let ended = LiveFailure(
    RequestError(.connectionLost, "The server ended the connection before the operation was complete."), .retry)

  /// The server sent what the protocol does not allow.
  static func badMessage(_ problem: String) -> LiveFailure {
    LiveFailure(RequestError(.badResponse, problem), .none, closeCode: 4004)
  }
}

/// What a server said when it closed the WebSocket of its subscriptions; the cause of an error.
public struct LiveClosure: Error, Hashable, CustomStringConvertible {
  /// The close code, such as 4403 (RFC 6455, section 7.4; the protocol `graphql-transport-ws`).
  public let code: UInt16

  /// The server's reason, at most 123 bytes; empty if it gave none.
  public let reason: String

  /// Takes a code and a reason.
  public init(code: UInt16, reason: String = "") {
    self.code = code
    self.reason = reason
  }

  /// The code and the reason on one line, with control characters made visible.
  public var description: String { "\(code)\(reason.isEmpty ? "" : ": ")\(reason)".sanitized(upTo: 256) }
}

extension LiveClosure: RedactableCause {
  package func redacted(by redactor: Redactor) -> LiveClosure {
    LiveClosure(code: code, reason: redactor.redact(reason))
  }
}

extension RequestError.Kind {
  /// The server closed the connection of a subscription, and another attempt would end in the same way; `cause` is a
  /// ``LiveClosure``.
  public static let closed = RequestError.Kind("connection closed")
}

extension Observable<LiveChannelEvent> {
  /// The events of a connection, with no secret in any error of theirs. Results are data, which their subscription reads.
  func redacted(by sent: SentSecrets) -> Observable<LiveChannelEvent> {
    map { event in
      switch event {
      case .lost(let failure): .lost(failure.redacted(by: sent.redactor))
      case .message(.failed(let id, let failure)): .message(.failed(id: id, failure.redacted(by: sent.redactor)))
      default: event
      }
    }
    .catch { throw RequestError(wrapping: $0).redacted(by: sent.redactor) }
  }
}

extension LiveFailure {
  fileprivate func redacted(by redactor: Redactor) -> LiveFailure {
    var failure = self
    failure.error = error.redacted(by: redactor)
    return failure
  }
}
