public import SystemBase

/// What happens on a WebSocket connection, in order.
public enum WebSocketEvent: Sendable {
  /// The connection is open: this is the handle to send by. It comes first, and once.
  case opened(WebSocketConnection)

  /// A whole message has arrived.
  case message(WebSocketMessage)

  /// A pong has arrived, with what the ping that it answers carried; it may be one that nobody asked for (RFC 6455,
  /// section 5.5.3).
  case pong(Data)

  /// The connection is closed. It comes last, and the stream then completes.
  case closed(WebSocketClosure)
}

/// A message of a WebSocket connection.
public enum WebSocketMessage: Hashable, Sendable {
  /// A text, which is valid Unicode.
  case text(String)

  /// Bytes.
  case binary(Data)
}

/// How a WebSocket connection was closed: what the server said in its close frame, whichever side began to close.
public struct WebSocketClosure: Hashable, Sendable, CustomStringConvertible {
  /// The server's code: `noStatus` if its close had none, and `abnormal` if this side began to close and the connection
  /// ended without the server's close.
  public var code: WebSocketCloseCode

  /// The server's reason, for logs: from outside, at most 123 bytes, and empty if there is none.
  public var reason: String

  /// Makes a closure.
  public init(code: WebSocketCloseCode, reason: String = "") {
    self.code = code
    self.reason = reason
  }

  /// The code, and the reason if there is one.
  public var description: String { reason.isEmpty ? "\(code)" : "\(code): \(reason.sanitized(upTo: 128))" }
}

/// Why a WebSocket connection is closed (RFC 6455, section 7.4, and IANA's registry of close codes).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The number: 1000 to 2999 are the protocol's, 3000 to 3999 those of registered subprotocols, 4000 to 4999 for
  /// private use.
  public let rawValue: UInt16

  /// Takes any number.
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// Takes any number.
  public init(_ rawValue: UInt16) {
    self.init(rawValue: rawValue)
  }

  /// What the connection was for is done.
  public static let normal = Self(1000)
  /// The server goes down, or the page is left.
  public static let goingAway = Self(1001)
  /// The other side violated the protocol.
  public static let protocolError = Self(1002)
  /// A message is of a kind that cannot be accepted.
  public static let unsupportedData = Self(1003)
  /// The close frame has no code; never sent.
  public static let noStatus = Self(1005)
  /// The connection ended without a close frame; never sent.
  public static let abnormal = Self(1006)
  /// A text is not UTF-8, or the data are otherwise not of their type.
  public static let invalidData = Self(1007)
  /// A message violates a policy.
  public static let policyViolation = Self(1008)
  /// A message is too large.
  public static let tooLarge = Self(1009)
  /// The client misses an extension that the server did not grant.
  public static let missingExtension = Self(1010)
  /// The server met a condition that it did not expect.
  public static let internalError = Self(1011)
  /// The server restarts; connect again after a while.
  public static let serviceRestart = Self(1012)
  /// The server is overloaded; connect again later.
  public static let tryAgainLater = Self(1013)
  /// A gateway got a bad response from the server behind it.
  public static let badGateway = Self(1014)

  /// Whether it may stand in a close frame (RFC 6455, section 7.4): 1000 to 1003, 1007 to 1014, and 3000 to 4999.
  public var isSendable: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// The number.
  public var description: String { String(rawValue) }
}

/// The cause of the ``RequestError`` of a WebSocket connection, where the kind does not say it all.
public enum WebSocketFailure: Error, Hashable {
  /// The server answered the upgrade with another status than 101. The error is of the kind `httpStatus`, or
  /// `redirectRefused` for a redirect, and has the status, `Retry-After` and the start of the body.
  case refused(HTTPResponseHead)

  /// The server's 101 is not one to this upgrade: a header is missing or wrong. The error is of the kind `badResponse`.
  case badHandshake(HTTPResponseHead)

  /// Subprotocols were offered, and the server selected none, or one that was not offered. The error is of the kind
  /// `badResponse`.
  case wrongSubprotocol(selected: String?)

  /// The server violated the protocol, or sent a message over the limit; the connection was closed with this code. The
  /// error is of the kind `badResponse`, or `tooLarge`.
  case violation(WebSocketCloseCode)
}

extension WebSocketFailure: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .refused(let head): "The server refused the WebSocket with status \(head.status)."
    case .badHandshake: "The server's response does not accept the WebSocket: a header is missing or wrong."
    case .wrongSubprotocol(let selected?):
      "The server selected the subprotocol '\(selected.sanitized(upTo: 128))', which was not offered."
    case .wrongSubprotocol(nil): "The server selected none of the subprotocols."
    case .violation(let code): "The server violated the protocol; the connection was closed with \(code)."
    }
  }
}
