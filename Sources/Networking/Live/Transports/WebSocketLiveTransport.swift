public import HTTP
import HTTPMiddlewares
public import JSON
public import Platform
public import Streams

/// Carries all subscriptions of a client on one WebSocket, which is opened when it is needed, and closed some time after
/// the last of them.
///
/// Clients with other tokens, or with the token of another account, have a socket of their own.
public struct WebSocketLiveTransport: LiveTransport {
  /// What an attempt sends besides the protocol's own; made for each, since URLs and tokens change.
  public struct Opening: Sendable {
    /// The address, with the scheme `ws` or `wss`.
    public var url: URL

    /// The header fields of the upgrade. They begin as the client's default fields and, if it has an `AuthMiddleware`
    /// and a token, the field of that.
    public var headers: HTTPHeaders

    /// The payload of `connection_init`. It begins as an object with the token's header field, or with that of the
    /// default fields, such as `{"Authorization": "Bearer …"}`; `nil` without either.
    public var payload: JSONValue?
  }

  private let makeDialler: @Sendable (APIClient, HTTPRequest) throws(RequestError) -> WebSocketDialler
  private let settings: LiveSettings
  private let scheduler: any Scheduler
  private let operationLimit: Int
  private let connections = Locked<[Holder: [LiveConnection]]>([:])

  /// Whose connection it is.
  private struct Holder: Hashable {
    let target: URL
    let tokens: ObjectIdentifier?
    let account: String?
    let fields: HTTPHeaders
  }

  /// For how many holders connections are kept; those without operations are forgotten first.
  private static let limit = 1024

  init(
    _ language: LiveProtocol, url: URL?, over sockets: (any WebSocketTransport)?, _ settings: LiveSettings,
    scheduler: any Scheduler, prepare: @escaping @Sendable (inout Opening) throws -> Void
  ) {
    self.settings = settings
    self.scheduler = scheduler
    operationLimit = language.operationLimit
    makeDialler = { client, request throws(RequestError) in
      guard let sockets = sockets ?? client.transport as? any WebSocketTransport else {
        throw RequestError(
          .invalidRequest, "The client's transport opens no WebSockets: name one that does, or use an event stream.")
      }
      var client = client
      client.live = .eventStream()  // not this one, which keeps what is made here
      return WebSocketDialler(
        language: language, url: url ?? client.baseURL, sockets: sockets, settings: settings, client: client,
        request: request, credentials: LiveCredentials(of: client), prepare: prepare)
    }
  }

  /// Runs the operation; see ``LiveTransport/open(_:on:)``. Of the session, only the operation itself is sent: a path or
  /// headers of its own have no place on a shared connection.
  public func open(_ operation: LiveOperation, on client: APIClient) -> Observable<LiveEvent<Data>> {
    Observable.create { observer in
      do {
        try check(operation)
        return try connection(of: client, operation.request).run(operation, observer)
      } catch {
        observer.onError(error)
        return Disposables.create()
      }
    }
    .buffered(operation.buffering, on: scheduler)
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
  private func connection(of client: APIClient, _ request: HTTPRequest) throws -> LiveConnection {
    let middleware = client.middlewares.firstAuthentication
    let holder = Holder(
      target: client.baseURL, tokens: middleware?.identity, account: middleware?.currentAccount,
      fields: client.defaultHeaders)
    let reserve = { (connections: [LiveConnection]?) in connections?.first { $0.reserve(upTo: operationLimit) } }
    if let connection = connections.withLock({ reserve($0[holder]) }) { return connection }
    let new = LiveConnection(try makeDialler(client, request), settings, scheduler: scheduler)
    _ = new.reserve()
    // What is dropped is released outside of the lock.
    let (connection, dropped) = connections.withLock { connections in
      if let connection = reserve(connections[holder]) { return (connection, [Holder: [LiveConnection]]()) }
      let all = connections
      if connections.count >= Self.limit {
        connections = connections.filter { !$0.value.allSatisfy(\.isUnused) }
      }
      connections[holder, default: []].append(new)
      return (new, all)
    }
    _ = dropped
    return connection
  }
}

/// The largest operation on a shared WebSocket, in bytes. With what `LiveMachine` sends ahead of the server, it is less than
/// may wait to be sent (`WebSocketLimits.unsent`), so that an operation cannot cost the others their connection.
private let liveOperationLimit = 8 << 20

/// Opens WebSockets to one server for one holder of tokens.
private struct WebSocketDialler: LiveDialler {
  let language: LiveProtocol
  let url: URL
  let sockets: any WebSocketTransport
  let settings: LiveSettings
  let client: APIClient
  let request: HTTPRequest
  let credentials: LiveCredentials
  let prepare: @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void

  var traits: LiveTraits { language.traits }
  var shutdown: (any ShutdownNotifying)? { sockets as? any ShutdownNotifying }

  func dial(refreshingToken: Bool) -> Observable<LiveLineEvent> {
    credentials.field(for: request, isRejected: refreshingToken).flatMap { field, _ in
      let fields = client.defaultHeaders
      let token = field ?? fields.first { $0.hasName("Authorization") }
      var opening = WebSocketLiveTransport.Opening(
        url: try url.withWebSocketScheme, headers: fields,
        payload: token.map { .object([$0.name: .string($0.value)]) })
      if let field { opening.headers.append(field) }
      var language = language
      if case .appSync = language {
        opening.url = try AppSyncDialect.realtimeURL(of: opening.url)
        opening.payload = nil
      }
      try prepare(&opening)
      var secrets = Array(opening.headers) + opening.secrets
      if case .appSync = language {
        let dialect = try AppSyncDialect(&opening, host: url.host ?? "")
        language = .appSync(dialect)
        secrets.append(dialect.secret)
      }
      var request = try WebSocketRequest(url: opening.url, headers: opening.headers, subprotocols: [language.name])
      try client.checkCleartext(request.target)
      request.operationName = self.request.operationName
      request.timeouts.connect = settings.dial
      request.timeouts.upgrade = settings.dial
      request.limits.message = liveMessageLimit
      return .just(.prepared).concat(
        connect(request, language, language.initMessage(opening.payload), Redactor(secretsOf: secrets)))
    }
  }

  private func connect(
    _ request: WebSocketRequest, _ language: LiveProtocol, _ hello: String, _ redactor: Redactor
  ) -> Observable<LiveLineEvent> {
    sockets.connect(request).compactMap { event in
      switch event {
      case .opened(let connection):
        try connection.send(hello)
        return .opened(WebSocketLine(connection, language), isResumed: false)
      case .message(.text(let text)):
        do throws(LiveFailure) { return .message(try language.message(text)) } catch {
          var failure = error
          failure.error = failure.error.redacted(by: redactor)
          return .lost(failure)
        }
      case .message(.binary):
        return .lost(.badMessage("The server sent a binary message, which \(language.name) does not have."))
      case .pong: if case .legacy = language { return .message(.pong) } else { return .heard }
      case .closed(let closure):
        return .lost(LiveFailure(closedWith: closure.code.rawValue, reason: redactor.redact(closure.reason)))
      }
    }
    .catch { throw RequestError(wrapping: $0).redacted(by: redactor) }
  }
}

extension WebSocketLiveTransport.Opening {
  /// The texts in the payload, which are mostly secrets.
  fileprivate var secrets: [HTTPField] {
    guard case .object(let members) = payload else { return [] }
    return members.values.compactMap(\.stringValue).map { HTTPField(received: "secret", value: $0) }
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
private struct WebSocketLine: LiveLine {
  private let connection: WebSocketConnection
  private let language: LiveProtocol

  init(_ connection: WebSocketConnection, _ language: LiveProtocol) {
    self.connection = connection
    self.language = language
  }

  func send(_ message: LiveClientMessage, body: Data) throws(RequestError) {
    // The older protocol has no pings of its own.
    if message == .ping, case .legacy = language { return try connection.ping() }
    try connection.send(try language.text(of: message, body: body))
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
    WebSocketLiveTransport(.transport, url: url, over: sockets, settings, scheduler: scheduler, prepare: prepare)
  }

  /// The same by the older protocol `graphql-ws`, of the library subscriptions-transport-ws.
  public static func legacyWebSocket(
    _ url: URL? = nil, over sockets: (any WebSocketTransport)? = nil, settings: LiveSettings = LiveSettings(),
    scheduler: some Scheduler = ElasticScheduler(),
    prepare: @escaping @Sendable (inout WebSocketLiveTransport.Opening) throws -> Void = { _ in }
  ) -> Self {
    WebSocketLiveTransport(.legacy, url: url, over: sockets, settings, scheduler: scheduler, prepare: prepare)
  }
}
