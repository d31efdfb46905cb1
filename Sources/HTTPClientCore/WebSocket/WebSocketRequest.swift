public import SystemBase

/// A WebSocket connection to be opened.
public struct WebSocketRequest: Sendable {
  /// The address, as it was given.
  public let url: URL

  /// The parts of the URL; `wss` counts as `https`, and `ws` as `http`.
  package let target: HTTPTarget

  /// The header fields of the upgrade, such as `Authorization` and `Origin`. The transport adds those of the handshake.
  public var headers: HTTPHeaders

  /// The subprotocols to offer, the preferred first. If there are any, the server must select one of them.
  public let subprotocols: [String]

  /// Whether to offer compression; `off` by default.
  public var compression = WebSocketCompression.off

  /// How much may wait in memory, and how large a message may be.
  public var limits = WebSocketLimits()

  /// How long the phases of the connection may take.
  public var timeouts = WebSocketTimeouts()

  /// The name of the operation that this is for, for errors.
  public var operationName: String?

  /// Called as the observer is, at most once a second, when a sign of life has arrived that is no event: a part of a long
  /// message, or a ping. Transports need not call it.
  package var onPart: (@Sendable () -> Void)?

  /// Makes a request.
  ///
  /// Throws `invalidRequest` for a URL that is not absolute, is none of `ws`, `wss`, `http` and `https`, has no host, or
  /// contains a user name, a password or a fragment; and for subprotocols that are not tokens (RFC 9110, section 5.6.2),
  /// or occur twice (RFC 6455, section 4.1).
  public init(
    url: URL, headers: HTTPHeaders = HTTPHeaders(), subprotocols: [String] = []
  ) throws(RequestError) {
    target = try HTTPTarget(url.withHTTPScheme)
    for (index, name) in subprotocols.enumerated() {
      guard name.isToken, !subprotocols[..<index].contains(name) else {
        throw RequestError(
          .invalidRequest,
          "Subprotocol \(index + 1) cannot be offered: the names are tokens, and each is given once.")
      }
    }
    self.url = url
    self.headers = headers
    self.subprotocols = subprotocols
  }

  /// Throws `invalidRequest` if a header is one of the handshake, of framing, or of the connection: the transport sets
  /// them.
  public func checkHandshake() throws(RequestError) {
    let name = headers.framingName ?? headers.first { $0.name.lowercased().hasPrefix("sec-websocket-") }?.name
    guard let name else { return }
    throw RequestError(
      .invalidRequest, "The header '\(name)' is the transport's to set: take it out of the request.",
      operationName: operationName)
  }
}

extension WebSocketRequest: Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Whether two requests are for the same connection, with equal settings.
  public static func == (left: WebSocketRequest, right: WebSocketRequest) -> Bool {
    left.url == right.url && left.headers == right.headers && left.subprotocols == right.subprotocols
      && left.compression == right.compression && left.limits == right.limits && left.timeouts == right.timeouts
      && left.operationName == right.operationName
  }

  /// Hashes the address.
  public func hash(into hasher: inout Hasher) { hasher.combine(url) }

  /// The address without the values of its query, and the subprotocols; in the place of one that is not widely known,
  /// and may be a token, a placeholder.
  public var description: String {
    let names = subprotocols.map { Redactor.isKnownSubprotocol($0) ? $0 : Redactor.placeholder }
    return (["WebSocket \(url.shownSafely)"] + names).joined(separator: ", ")
  }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: [(label: "request", value: description)]) }
}

/// Whether messages are compressed (permessage-deflate, RFC 7692); the server decides whether it takes the offer.
///
/// Over TLS, somebody who can have a text of theirs sent beside a secret can guess the secret by the size of compressed
/// messages. Offer compression only where that cannot be.
public enum WebSocketCompression: Hashable, Sendable {
  /// Messages are not compressed.
  case off

  /// Each message is compressed by itself, which takes no memory between messages.
  case perMessage

  /// The server may refer to earlier messages, which makes small ones that resemble each other several times smaller,
  /// and takes about 40 KiB for each connection. What the client sends is compressed as with `perMessage`.
  case acrossMessages
}

/// How much of a WebSocket connection's messages may be in memory.
public struct WebSocketLimits: Hashable, Sendable {
  /// The largest message that is accepted, in bytes, also after decompression; 16 MiB by default. A larger one fails the
  /// connection with `tooLarge`, and tells the server 1009.
  public var message = 16 << 20

  /// How many bytes of messages may wait for a slow observer before the transport stops reading; 4 MiB by default, and
  /// at least one message. Each message counts for 64 bytes more than it has, after decompression; the next one is not
  /// decompressed before there is room. Pings that come later in the stream are answered once the observer has caught up
  /// to half of it.
  public var undelivered = 4 << 20

  /// How many bytes may wait to be sent while the peer does not read; 16 MiB by default. Pongs are not counted; of those,
  /// only the latest 64 wait (RFC 6455, section 5.5.3).
  public var unsent = 16 << 20

  /// Makes limits with the default values.
  public init() {}
}

/// How long the phases of a WebSocket connection may take; `nil` means no limit.
public struct WebSocketTimeouts: Hashable, Sendable {
  /// From the start until there is a connection: the look-up, the socket, the proxy's tunnel and TLS; 10 seconds by
  /// default.
  public var connect: Duration? = .seconds(10)

  /// From then until the server has answered the upgrade; 10 seconds by default.
  public var upgrade: Duration? = .seconds(10)

  /// After which silence of the server to send a ping, and ``pong`` to wait for any sign of life; `nil` by default, for
  /// no pings. Proxies and load balancers often drop a connection after 60 silent seconds. A server that does not answer,
  /// and takes nothing of what waits to be sent, fails the connection with `timedOut`.
  public var ping: Duration?

  /// How long to wait for a sign of life after a ping of ``ping``; 10 seconds by default.
  public var pong = Duration.seconds(10)

  /// From the close frame of this side until the server's, and from the server's until it ends the connection; 5 seconds
  /// by default. It begins again as long as what is queued before the close frame is being sent, 64 KiB or more in that time;
  /// and up to a minute does not count in which nothing is read, since the observer is behind.
  public var close = Duration.seconds(5)

  /// Makes timeouts with the default values.
  public init() {}
}

extension URL {
  /// The URL with `http` for `ws` and `https` for `wss`, which differ in name alone (RFC 6455, section 3).
  fileprivate var withHTTPScheme: URL {
    let text = absoluteString
    for (name, replacement) in [("ws://", "http://"), ("wss://", "https://")]
    where text.prefix(name.count).lowercased() == name {
      return URL(string: replacement + text.dropFirst(name.count)) ?? self
    }
    return self
  }
}
