public import HTTPClientCore
public import Streams
import StrictJSON
public import SystemBase

/// AWS AppSync's dialect of the protocol `graphql-ws`: what differs from it, as the developer guide's chapter "Building a
/// real-time WebSocket client" says.
///
/// - The credentials stand in the address, and in each operation beside its text.
/// - The acknowledgement says how long the server is silent at most; it sends keep-alives, and there are no pings.
/// - Each operation is confirmed by a `start_ack`.
/// - A connection carries a limited number of operations, and a message is limited in size.
struct AppSyncProtocol: LiveProtocol {
  let name = "graphql-ws"
  let traits = LiveTraits(acknowledges: true, confirmsOperations: true)
  /// What AppSync allows on a connection.
  let operationLimit = 100
  /// How many bytes AppSync allows in a message.
  private static let messageLimit = 240 << 10

  /// A JSON object: the host of the API, and a token or an API key. `nil` until an attempt has its credentials.
  private var authorization: RawJSON?

  /// Changes the address to that of the connections, and drops the payload, which AppSync has no use for.
  func begin(_ opening: inout WebSocketLiveTransport.Opening) throws(RequestError) {
    opening.url = try Self.realtimeURL(of: opening.url)
    opening.payload = nil
  }

  /// Moves the credentials from an attempt's header fields to its address.
  ///
  /// Throws `invalidRequest` if there are none.
  func prepared(
    _ opening: inout WebSocketLiveTransport.Opening, host: String
  ) throws(RequestError) -> AppSyncProtocol {
    let fields = ["Authorization", "x-api-key"].compactMap { name in opening.headers.first { $0.hasName(name) } }
    guard let field = fields.first else {
      throw RequestError(
        .invalidRequest,
        "AppSync needs a token or an API key: give the client an AuthMiddleware, or one of the default header fields "
          + "'Authorization' and 'x-api-key'. Requests signed for IAM are not supported.")
    }
    let isToken = field.hasName("Authorization")
    let credential = isToken ? field.value.withoutBearer : field.value
    let authorization = try RawJSON.encoding(
      .object(["host": .string(host), isToken ? "Authorization" : "x-api-key": .string(credential)]))
    for name in ["Authorization", "x-api-key"] { opening.headers.remove(name) }
    // Some servers read '+' as a space.
    let header = Data(authorization.bytes).base64EncodedString().replacing("+", with: "%2B")
    let query = "header=\(header)&payload=\(Data("{}".utf8).base64EncodedString())"
    opening.url = try opening.url.changed { components in
      components.percentEncodedQuery = components.percentEncodedQuery.map { "\($0)&\(query)" } ?? query
    }
    var prepared = self
    prepared.authorization = authorization
    return prepared
  }

  /// The message that begins an operation: its text, as a string, and the credentials.
  ///
  /// Throws `invalidRequest` if that has more bytes than AppSync allows.
  func start(_ id: String, _ body: Data) throws(RequestError) -> String {
    let data = String(
      decoding: try RawJSON.encoding(.string(String(decoding: body, as: UTF8.self))).bytes, as: UTF8.self)
    let message =
      "{\"id\":\"\(id)\",\"type\":\"start\",\"payload\":{\"data\":\(data),"
      + "\"extensions\":{\"authorization\":\(authorization?.description ?? "{}")}}}"
    let size = message.utf8.count
    guard size <= Self.messageLimit else {
      throw RequestError(
        .invalidRequest,
        "The operation makes a message of \(size) bytes, and AppSync allows \(Self.messageLimit): send less.")
    }
    return message
  }

  func stop(_ id: String) -> String { "{\"id\":\"\(id)\",\"type\":\"stop\"}" }

  func ownMeaning(of message: LiveMessage) throws(LiveFailure) -> LiveServerMessage? {
    switch message.type {
    case "connection_ack": return .acknowledged(longestSilence: Self.longestSilence(in: message.payload))
    case "start_ack": return .confirmed(id: try message.id())
    case "data": return try message.result()
    // One without an id is about the connection.
    case "error" where !message.hasID: throw LiveFailure(RequestError(graphQL: message.errors))
    default: return nil
    }
  }

  /// How long the server is silent at most, by the payload of `connection_ack`: five minutes if it does not say, or says
  /// what makes no sense.
  private static func longestSilence(in payload: RawJSON?) -> Duration {
    let milliseconds = payload.flatMap { try? JSONValue(json: $0.bytes.span.bytes) }?["connectionTimeoutMs"]?
      .integerValue
    guard let milliseconds, 1_000...86_400_000 ~= milliseconds else { return .seconds(300) }
    return .milliseconds(milliseconds)
  }

  /// The address of the connection for an API's endpoint: `appsync-realtime-api` in the place of `appsync-api`, or, for a
  /// domain of one's own, the path with `/realtime` behind it.
  private static func realtimeURL(of url: URL) throws(RequestError) -> URL {
    try url.changed { components in
      if let host = components.host, host.contains(".appsync-api.") {
        components.host = host.replacing(".appsync-api.", with: ".appsync-realtime-api.")
      } else {
        components.path.append("/realtime")
      }
    }
  }
}

extension String {
  /// A token without the scheme, which AppSync's guide leaves out.
  fileprivate var withoutBearer: String {
    lowercased().hasPrefix("bearer ") ? String(dropFirst(7)) : self
  }
}

extension LiveTransport where Self == WebSocketLiveTransport {
  /// WebSockets to AWS AppSync, by its dialect of the protocol `graphql-ws`.
  ///
  /// A token or an API key comes from where requests have theirs: the client's `AuthMiddleware`, or its default header
  /// field `Authorization` or `x-api-key`. Tokens are those of Cognito, OpenID Connect or a Lambda authoriser; requests
  /// that are signed for IAM are not supported. The connection's address is that of the API with `appsync-realtime-api`
  /// in the place of `appsync-api`, or with `/realtime` behind it for a domain of one's own.
  ///
  /// A connection carries 100 subscriptions, and there are as many connections as that takes. A subscription that makes
  /// a message of more than 240 KiB fails with `invalidRequest`.
  ///
  /// - Parameters:
  ///   - url: The API's endpoint; by default the client's base URL.
  ///   - sockets: Opens the WebSockets; by default the client's transport, if it can.
  ///   - settings: How long the phases of a connection may take, and when another attempt is made. How long it may be
  ///     silent is up to AppSync.
  ///   - scheduler: Times all that, and calls observers back.
  ///   - prepare: Changes what an attempt sends, before the credentials move from the header fields to the address.
  public static func appSync(
    _ url: URL? = nil, over sockets: (any WebSocketTransport)? = nil, settings: LiveSettings = LiveSettings(),
    scheduler: some Scheduler = ElasticScheduler(),
    prepare: @escaping @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void = { _ in }
  ) -> Self {
    WebSocketLiveTransport(AppSyncProtocol(), url: url, over: sockets, settings, scheduler: scheduler, prepare: prepare)
  }
}
