public import Foundation
import Streams

/// The error of a request: the only error type that transports, middlewares, clients and sessions send.
///
/// The kind is for code that handles the error; the message says what happened, where, and what may help. Text from a
/// server is limited in length, cleared of the request's secrets, and made harmless for terminals and logs.
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

  /// Whether the refresh of a token failed: the request itself was not sent, or had been rejected before.
  package var isOfRefresh = false

  /// Whether the request had been redirected, and so had reached the server before.
  var isAfterRedirect = false

  /// Makes an error. The message is cut at 1,024 bytes and the excerpt at 512, and their control characters are made
  /// visible.
  public init(
    _ kind: Kind, _ message: String, operationName: String? = nil, status: Int? = nil, excerpt: String? = nil,
    cause: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message.harmless(upTo: 1024)
    self.operationName = operationName
    self.status = status
    self.excerpt = excerpt?.harmless(upTo: 512)
    self.cause = cause
  }

  /// The same error with the name of an operation, unless it already has one.
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
    let operation = operationName.map { "\($0.harmless(upTo: 128)): " } ?? ""
    guard let excerpt else { return "\(operation)\(kind): \(message)" }
    let stop = message.last.map { ".!?…".contains($0) } ?? true ? "" : "."
    return "\(operation)\(kind): \(message)\(stop) The answer begins: \(excerpt)"
  }
}

extension RequestError: LocalizedError {
  /// The same as `description`: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}
