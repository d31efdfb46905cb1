public import HTTPClientCore
import HTTPMiddlewares
public import Streams
public import StrictJSON
public import SystemBase

/// Carries all subscriptions of a client on one WebSocket, which is opened when it is needed, and closed some time after
/// the last of them.
///
/// Clients with another transport, with tokens of another account, or with other default header fields have a socket of
/// their own. Transports that are values of one type, and not `Equatable`, count as one: make those `Equatable` that must
/// not share a socket. Tokens without an account are accounts of their own, so that a subscription which begins after a
/// refresh has another socket: name the account in `AccessToken` to share one.
public struct WebSocketLiveTransport: LiveTransport {
  /// What an attempt sends besides the protocol's own; made for each, since URLs and tokens change.
  public struct Opening: Sendable {
    /// The address, with the scheme `ws` or `wss`.
    public var url: URL

    /// The header fields of the upgrade. They begin as the client's default fields and, if it has an `AuthMiddleware`
    /// and a token, the field of that, unless it is among them.
    public var headers: HTTPHeaders

    /// The payload of `connection_init`. It begins as an object with the token's header field, or with that of the
    /// default fields, such as `{"Authorization": "Bearer …"}`; `nil` without either.
    public var payload: JSONValue?
  }

  private let liveProtocol: any LiveProtocol
  private let url: URL?
  private let sockets: (any WebSocketTransport)?
  private let prepare: @Sendable (inout Opening) throws -> Void
  private let settings: LiveSettings
  private let scheduler: any Scheduler
  private let connections = Locked(Connections())

  /// Whose connection it is, and how it is made.
  private struct ConnectionKey: Hashable, Sendable {
    let target: URL
    let allowsCleartext: Bool
    let sockets: TransportIdentity
    let tokens: ObjectIdentifier?
    let account: Account
    let fields: HTTPHeaders
  }

  /// The account that a connection belongs to; without a name, its token tells it from others.
  private enum Account: Hashable, Sendable {
    case nobody
    case named(String)
    case unnamed(tokenDigest: String)

    init(of token: AccessToken?) {
      self =
        token.map { $0.account.map(Account.named) ?? .unnamed(tokenDigest: SHA256.hexadecimal(of: $0.value.utf8)) }
        ?? .nobody
    }
  }

  private struct Connections: Sendable {
    var all: [ConnectionKey: [LiveConnection]] = [:]
    /// At how many keys those at rest are dropped.
    var limit = 16

    mutating func reserve(_ key: ConnectionKey, upTo limit: Int) -> LiveConnection? {
      all[key]?.first { $0.reserve(upTo: limit) }
    }

    /// Drops those at rest now and then, so that their number, and what they refer to, stays in proportion to those in
    /// use. Returns what is dropped, to be released outside of the lock.
    mutating func drop() -> [ConnectionKey: [LiveConnection]] {
      guard all.count >= limit else { return [:] }
      let old = all
      all = all.mapValues { $0.filter { !$0.isAtRest } }.filter { !$0.value.isEmpty }
      limit = max(16, 2 * all.count)
      return old
    }
  }

  init(
    _ liveProtocol: any LiveProtocol, url: URL?, over sockets: (any WebSocketTransport)?, _ settings: LiveSettings,
    scheduler: any Scheduler, prepare: @escaping @Sendable (inout Opening) throws -> Void
  ) {
    self.liveProtocol = liveProtocol
    self.url = url
    self.sockets = sockets
    self.prepare = prepare
    self.settings = settings
    self.scheduler = scheduler
  }

  /// Runs the operation; see ``LiveTransport/open(_:on:)``. Of the session, only the operation itself is sent: a path or
  /// headers of its own have no place on a shared connection.
  public func open(_ operation: LiveOperation, on client: APIClient) -> Observable<LiveEvent<Data>> {
    Observable.create { observer in
      do {
        try check(operation)
        return try connection(of: client, operation.request).run(operation, observer)
      } catch {
        return Observable.error(error).buffered(operation.buffering, on: scheduler).subscribe(observer)
      }
    }
  }

  private func check(_ operation: LiveOperation) throws(RequestError) {
    guard operation.buffering != .suspend else {
      throw RequestError(
        .invalidRequest,
        "A WebSocket carries other subscriptions, too, and cannot be suspended for one of them: "
          + "choose another buffering, or an event stream.")
    }
    let size = operation.request.body?.count ?? 0
    guard size <= liveOperationLimit else {
      throw RequestError(
        .invalidRequest,
        "The operation has \(size) bytes, and may have \(liveOperationLimit) on a WebSocket that it shares: "
          + "send less, or use an event stream.")
    }
  }

  /// A connection with a place for one more operation, which is reserved.
  private func connection(of client: APIClient, _ request: HTTPRequest) throws(RequestError) -> LiveConnection {
    guard let sockets = sockets ?? client.transport as? any WebSocketTransport else {
      throw RequestError(
        .invalidRequest, "The client's transport opens no WebSockets: name one that does, or use an event stream.")
    }
    let middleware = client.middlewares.firstAuthentication
    let token = middleware?.currentToken
    let key = ConnectionKey(
      target: client.baseURL, allowsCleartext: client.allowsCleartext, sockets: TransportIdentity(sockets),
      tokens: middleware?.identity, account: Account(of: token), fields: client.defaultHeaders)
    let limit = liveProtocol.operationLimit
    // Its provider may not have said that somebody has signed out.
    for connection in connections.withLock({ $0.all[key] ?? [] }) { connection.note(token) }
    if let connection = connections.withLock({ $0.reserve(key, upTo: limit) }) { return connection }
    let dialler = makeDialler(client, sockets, request, LiveCredentials(of: client, token))
    let new = LiveConnection(dialler, settings, scheduler: scheduler)
    _ = new.reserve()
    let (connection, dropped) = connections.withLock { connections in
      if let connection = connections.reserve(key, upTo: limit) {
        return (connection, [ConnectionKey: [LiveConnection]]())
      }
      var dropped = connections.drop()
      dropped[key] = connections.all[key]
      connections.all[key] = (dropped[key] ?? []).filter { !$0.hasSignedOut } + [new]
      return (new, dropped)
    }
    withExtendedLifetime(dropped) {}
    return connection
  }

  private func makeDialler(
    _ client: APIClient, _ sockets: any WebSocketTransport, _ request: HTTPRequest, _ credentials: LiveCredentials
  ) -> WebSocketDialler {
    var (client, request) = (client, request)
    client.graphQL.live = .eventStream()  // not this one, which keeps what is made here
    // The connection is not the first operation's alone.
    request.operationName = nil
    return WebSocketDialler(
      liveProtocol: liveProtocol, url: url ?? client.baseURL, sockets: sockets, settings: settings, client: client,
      request: request, credentials: credentials, prepare: prepare)
  }
}

/// What tells transports apart: which object one is; of values, their type, and whether they are equal, if they say.
private struct TransportIdentity: Hashable, Sendable {
  private let transport: any WebSocketTransport

  init(_ transport: any WebSocketTransport) {
    self.transport = transport
  }

  private var object: ObjectIdentifier? {
    type(of: transport) is AnyClass ? ObjectIdentifier(transport as AnyObject) : nil
  }

  static func == (left: TransportIdentity, right: TransportIdentity) -> Bool {
    guard type(of: left.transport) == type(of: right.transport), left.object == right.object else { return false }
    return left.object != nil || (left.transport as? any Equatable)?.isEqual(to: right.transport) ?? true
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(type(of: transport)))
    hasher.combine(object)
  }
}

extension WebSocketLiveTransport: CustomReflectable {
  /// What printing and `dump` show: the address without the values of its query, and none of the connections, which have
  /// tokens.
  public var customMirror: Mirror { Mirror(self, children: [(label: "url", value: url?.shownSafely as Any)]) }
}

extension WebSocketLiveTransport.Opening: CustomReflectable {
  /// What printing and `dump` show: no secrets, and so neither the values of the query nor the payload.
  public var customMirror: Mirror {
    Mirror(self, children: ["url": url.shownSafely, "headers": headers, "hasPayload": payload != nil])
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}

/// The largest operation on a shared WebSocket, in bytes. With what `LiveMachine` sends ahead of the server, it is less than
/// may wait to be sent (`WebSocketLimits.unsent`), so that an operation cannot cost the others their connection.
private let liveOperationLimit = 8 << 20

/// Opens WebSockets to one server for one key of tokens.
private struct WebSocketDialler: LiveDialler {
  let liveProtocol: any LiveProtocol
  let url: URL
  let sockets: any WebSocketTransport
  let settings: LiveSettings
  let client: APIClient
  let request: HTTPRequest
  let credentials: LiveCredentials
  let sent = SentSecrets()
  let prepare: @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void

  var traits: LiveTraits { liveProtocol.traits }
  var shutdown: (any ShutdownNotifying)? { sockets as? any ShutdownNotifying }

  func dial(refreshingToken: Bool, after position: String?) -> Observable<LiveChannelEvent> {
    credentials.field(for: request, isRejected: refreshingToken).flatMap { field, _ in
      let fields = client.defaultHeaders
      // As in requests, a field of the client's own takes the place of the token's.
      let own = fields.first { $0.hasName(field?.name ?? "Authorization") }
      let token = own ?? field ?? fields.first { $0.hasName("Authorization") }
      var opening = WebSocketLiveTransport.Opening(
        url: try url.withWebSocketScheme, headers: fields,
        payload: token.map { .object([$0.name: .string($0.value)]) })
      if let field, own == nil { opening.headers.append(field) }
      try liveProtocol.begin(&opening)
      try prepare(&opening)
      sent.add(opening.headers)
      if let payload = opening.payload { sent.add(texts: payload.texts) }
      let liveProtocol = try liveProtocol.prepared(&opening, host: url.host ?? "")
      var request = try WebSocketRequest(url: opening.url, headers: opening.headers, subprotocols: [liveProtocol.name])
      sent.add(request)
      try client.checkCleartext(request.target)
      request.timeouts.connect = settings.dial
      request.timeouts.upgrade = settings.dial
      request.limits.message = liveMessageLimit
      return .just(.prepared).concat(
        connect(request, liveProtocol, try liveProtocol.initMessage(opening.payload)))
    }
    .redacted(by: sent)
  }

  private func connect(
    _ request: WebSocketRequest, _ liveProtocol: any LiveProtocol, _ initMessage: String
  ) -> Observable<LiveChannelEvent> {
    .create { observer in
      var request = request
      // While a long result arrives, the server cannot answer a ping.
      request.onPart = { observer.onNext(.heard) }
      return sockets.connect(request).map { event in
        switch event {
        case .opened(let connection):
          try connection.send(initMessage)
          return .opened(WebSocketChannel(connection, liveProtocol), isResumed: false)
        case .message(.text(let text)):
          do throws(LiveFailure) { return .message(try liveProtocol.message(text)) } catch { return .lost(error) }
        case .message(.binary):
          return .lost(.badMessage("The server sent a binary message, which \(liveProtocol.name) does not have."))
        case .pong(let payload):
          guard liveProtocol.pingsByFrames, let number = Int(String(decoding: payload, as: UTF8.self)) else {
            return .heard
          }
          return .message(.pong(number))
        case .closed(let closure):
          return .lost(LiveFailure(closedWith: closure.code.rawValue, reason: closure.reason))
        }
      }
      .subscribe(observer)
    }
  }
}

extension JSONValue {
  /// All texts in it: in a payload, most are secrets.
  fileprivate var texts: [String] {
    switch self {
    case .string(let text): [text]
    case .array(let elements): elements.flatMap(\.texts)
    case .object(let members): members.values.flatMap(\.texts)
    default: []
    }
  }
}

extension URL {
  /// The URL with `ws` for `http` and `wss` for `https`.
  fileprivate var withWebSocketScheme: URL {
    get throws(RequestError) {
      try changed { components in
        switch components.scheme?.lowercased() {
        case "http": components.scheme = "ws"
        case "https": components.scheme = "wss"
        default: break
        }
      }
    }
  }

  /// The URL with other components. Throws `invalidRequest` if that makes no URL of a WebSocket.
  func changed(_ change: (inout URLComponents) -> Void) throws(RequestError) -> URL {
    let url = URLComponents(url: self, resolvingAgainstBaseURL: true).flatMap { components in
      var components = components
      change(&components)
      return components.url
    }
    guard let url else {
      throw RequestError(.invalidRequest, "No WebSocket can be opened at the address '\(shownSafely)'.")
    }
    return url
  }
}

/// Speaks a protocol on a connection.
private struct WebSocketChannel: LiveChannel {
  private let connection: WebSocketConnection
  private let liveProtocol: any LiveProtocol

  init(_ connection: WebSocketConnection, _ liveProtocol: any LiveProtocol) {
    self.connection = connection
    self.liveProtocol = liveProtocol
  }

  func send(_ message: LiveClientMessage, body: Data) throws(RequestError) {
    if case .ping(let number) = message, liveProtocol.pingsByFrames {
      return try connection.ping(Data("\(number)".utf8))
    }
    try connection.send(try liveProtocol.text(of: message, body: body))
  }

  func close(code: UInt16) {
    // It may be closed already.
    try? connection.close(code: WebSocketCloseCode(code))
  }
}

extension LiveTransport where Self == WebSocketLiveTransport {
  /// One WebSocket for all subscriptions of a client, by the protocol `graphql-transport-ws`.
  ///
  /// - Parameters:
  ///   - url: The address; by default the client's base URL, with `ws` for `http`.
  ///   - sockets: Opens the WebSockets; by default the client's transport, if it can: a `SocketTransport` can, with its
  ///     proxies, TLS and certificates.
  ///   - settings: How long the phases of a connection may take, and when another attempt is made.
  ///   - scheduler: Times all that, and calls observers back.
  ///   - prepare: Changes what an attempt sends: its address, its header fields, and the payload of `connection_init`.
  ///     Called for each attempt, so it may give a new token each time.
  public static func webSocket(
    _ url: URL? = nil, over sockets: (any WebSocketTransport)? = nil, settings: LiveSettings = LiveSettings(),
    scheduler: some Scheduler = ElasticScheduler(),
    prepare: @escaping @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void = { _ in }
  ) -> Self {
    WebSocketLiveTransport(
      TransportProtocol(), url: url, over: sockets, settings, scheduler: scheduler, prepare: prepare)
  }

  /// One WebSocket for all subscriptions of a client, by the older protocol `graphql-ws` of the library
  /// subscriptions-transport-ws; with the parameters of `webSocket`.
  public static func legacyWebSocket(
    _ url: URL? = nil, over sockets: (any WebSocketTransport)? = nil, settings: LiveSettings = LiveSettings(),
    scheduler: some Scheduler = ElasticScheduler(),
    prepare: @escaping @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void = { _ in }
  ) -> Self {
    WebSocketLiveTransport(LegacyProtocol(), url: url, over: sockets, settings, scheduler: scheduler, prepare: prepare)
  }
}
