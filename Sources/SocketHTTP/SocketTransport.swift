public import HTTPClientCore
public import Streams
import SystemBase

/// Sends requests over sockets of its own, in HTTP/1.1 and HTTP/2 with persistent connections, and one thread that waits
/// for all of them.
///
/// - Deadlines have a resolution of a millisecond, and fire a few milliseconds late at most.
/// - Callbacks come one at a time for each subscriber: on the task that awaits the stream's `value`, otherwise on one
///   of the transport's threads. One that blocks delays the others by 10 ms, and hundreds that block by about 50 ms.
///   Up to 2,048 callbacks of a process may block at once; no other ones come until one of these returns, not even
///   those of deadlines. What a slow observer has not taken stays with the server, so memory is bounded.
/// - With eight or more exchanges in flight, responses are handed over in batches, so that a thread is not woken for
///   each. This delays a response by at most a quarter of the time that it took, and never by more than 1 ms.
/// - One thread reads from all connections and does the TLS work; a full handshake occupies it for about 2 ms, and
///   deadlines have their turn between handshakes.
/// - Of a host's addresses, each one that does not respond within 250 ms is passed over (RFC 8305), and tried last for
///   five minutes if another one did. Names whose look-up hangs do not delay others.
/// - The connect deadline counts from the start, including the wait for a free connection; when a lost connection is
///   replaced, it restarts at the loss.
/// - If a kept connection turns out to be dead, it is replaced silently, provided that the request cannot have been
///   processed. A request that may have been processed is sent again only if it `isReplayable`; one that is not gets a
///   connection that was used a moment ago, or a new one.
/// - If no byte of a response comes on a kept connection before a deadline, or before it breaks, the connections to
///   that server that have not been used since are given up.
/// - A request that waits for a connection gets one in turn, whatever other servers' requests do. While the system
///   lacks descriptors or memory, idle connections are closed for those who wait, and others wait until it is over: one
///   that has waited for its time to connect fails with `timedOut`, and what was lacking as the cause. If it lacks ports to
///   a server, requests wait for that server's busy connections, and fail only if there are none.
/// - Streams, which may be read for ever, take no connection away from requests: see
///   ``Configuration/maximumStreamsPerOrigin``.
/// - Files of uploads are read a block ahead, on threads of their own, so one that is slow to read delays nothing else.
/// - Ambiguous responses (RFC 9112, section 11.2) and heads over 64 KiB are refused.
/// - In a child of `fork`, requests fail with `forkedProcess` if any transport had run in the parent.
///
/// When nothing refers to the transport any more, it closes its connections and ends its thread.
public final class SocketTransport: HTTPTransport, SendTracking, WebSocketTransport, ShutdownNotifying {
  private let configuration: Configuration
  private let files: FileAccess
  let engine: SocketEngine
  private let defaults: Result<DefaultFields, RequestError>

  /// Makes a transport with connections of its own. Its thread starts with the first request.
  public convenience init(configuration: Configuration = Configuration()) {
    self.init(
      configuration: configuration, resolver: configuration.resolver.map { AddressResolver($0) } ?? AddressResolver())
  }

  init(
    configuration: Configuration, resolver: AddressResolver = AddressResolver(), files: FileAccess = .onWorkers,
    makePoller: @escaping @Sendable () throws(SystemError) -> any Poller = { () throws(SystemError) in
      try EpollPoller()
    },
    makeHTTP: @escaping @Sendable (ApplicationProtocol?) -> any HTTPConnection = Connection.http
  ) {
    self.configuration = configuration
    self.files = files
    defaults = Result { () throws(RequestError) in try DefaultFields(userAgent: configuration.userAgent) }
    engine = SocketEngine(configuration: configuration, resolver: resolver, makePoller: makePoller, makeHTTP: makeHTTP)
  }

  deinit {
    // A subscriber that still waits for a response keeps this object alive.
    engine.shutDown(within: nil) {}
  }

  /// A cold stream of the response's parts; see `HTTPTransport.send(_:)`.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do throws(RequestError) {
        let (route, forwarder) = try route(of: request)
        let defaults = try defaults.get()
        let exchange = try SocketExchange(
          request, route: route, defaults: request.headers.contains("Range") ? defaults.part : defaults.whole,
          forwarder: forwarder, undecodable: configuration.undecodableBodies, files: files, observer: observer)
        engine.start(exchange)
        return Cancellation(transport: self, exchange: exchange)
      } catch {
        observer.onError(error.named(request.operationName))
        return Disposables.create()
      }
    }
  }

  /// A cold stream of a WebSocket connection's events; see `WebSocketTransport.connect(_:)`.
  ///
  /// Where there is a connection in HTTP/2 whose server takes WebSockets on it (RFC 8441), one is a stream there. Otherwise, each
  /// connection is one of its own, beside those of requests and their limits, and is made in the same way: through the
  /// resolver, proxies (always by a tunnel, also for `ws`), TLS and with the certificates of the configuration.
  public func connect(_ request: WebSocketRequest) -> Observable<WebSocketEvent> {
    Observable<WebSocketEvent>.create { [self] observer in
      do throws(RequestError) {
        _ = try defaults.get()
        var route = directRoute(to: request.target)
        route.allowsHTTP2 = configuration.httpVersions.allowHTTP2(isSecure: route.isSecure)
        if route.unixPath == nil { route.tunnel = try configuration.proxy.server(for: request.target) }
        let session = try WebSocketSession(
          request, route: route, userAgent: configuration.userAgent, observer: observer)
        try engine.start(session)
        return Disposables.create { [self] in
          if session.inbox.stop() { engine.cancel(session) }
        }
      } catch {
        observer.onError(error.named(request.operationName))
        return Disposables.create()
      }
    }
    // The server's answer to the upgrade may repeat what is in it.
    .catch { throw RequestError(wrapping: $0).redacted(by: Redactor(secretsOf: request)) }
  }

  /// The numbers of connections and waiting requests at this moment, in all and by origin: for gauges and for finding
  /// out what a process waits for. It looks at each origin that has connections, and delays requests meanwhile.
  public func statistics() -> Statistics { engine.statistics() }

  /// Cancels an exchange. Until it is disposed, it keeps the transport alive for the subscriber.
  private struct Cancellation: Disposable {
    let transport: SocketTransport
    let exchange: SocketExchange

    func dispose() {
      if exchange.stop() { transport.engine.cancel(exchange) }
    }
  }

  /// Calls a closure when a shutdown begins; see `ShutdownNotifying.onShutdown(_:)`.
  public func onShutdown(
    _ body: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
  ) -> any Disposable {
    engine.onShutdown(body)
  }

  /// Refuses new requests with `cannotConnect`, ends subscriptions, lets requests in flight finish, closes every
  /// connection, stops the loop, and returns once all observers have been notified. So an observer must not wait for this
  /// to return.
  ///
  /// GraphQL subscriptions fail with `connectionLost`; their servers get the message that each is complete, and
  /// their WebSockets close with code 1000, others with 1001. Requests that are still in flight after `limit`, or when the task that
  /// awaits this is cancelled, fail with `connectionLost`. The cause of all these errors is a `TransportShutdown`.
  /// Without a limit, this may wait for ever for a request that has no deadline.
  public func shutdown(within limit: Duration? = nil) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in engine.shutDown(within: limit) { continuation.resume() } }
    } onCancel: {
      engine.shutDown(within: .zero) {}
    }
  }

  /// The fields of requests that have none with these names.
  private struct DefaultFields {
    let whole: [(name: String, value: String)]
    /// For range requests: a part of a coded response could not be decoded, and without this field the server may
    /// choose any coding (RFC 9110, section 12.5.3).
    let part: [(name: String, value: String)]

    init(userAgent: String?) throws(RequestError) {
      var common: [(name: String, value: String)] = []
      if let userAgent {
        let field = try HTTPField(name: "User-Agent", value: userAgent)
        common = [(field.name, field.value)]
      }
      whole = [("Accept-Encoding", ContentCoding.accepted)] + common
      part = [("Accept-Encoding", "identity")] + common
    }
  }

  /// The route of a request, and the proxy that passes it on in clear text, if there is one.
  private func route(of request: HTTPRequest) throws(RequestError) -> (Route, forwarder: ProxyServer?) {
    var route = directRoute(to: request.target)
    route.allowsHTTP2 = configuration.httpVersions.allowHTTP2(isSecure: route.isSecure)
    guard route.unixPath == nil, let proxy = try configuration.proxy.server(for: request.target) else {
      return (route, nil)
    }
    guard request.target.isSecure else {
      // What a proxy passes on in clear text is HTTP/1.1.
      return (Route(host: proxy.host, port: proxy.port, isSecure: false), proxy)
    }
    route.tunnel = proxy
    return (route, nil)
  }

  private func directRoute(to target: HTTPTarget) -> Route {
    Route(host: target.host, port: target.port, isSecure: target.isSecure, unixPath: configuration.unixSocketPath)
  }
}

extension SocketTransport {
  /// How a transport makes its connections, and how many.
  public struct Configuration: Sendable {
    /// The maximum number of connections to one server at a time, beside those of streams; a request that finds them all busy waits for one. 64
    /// by default, at least 1.
    public var maximumConnectionsPerOrigin = 64

    /// The maximum number of connections at a time to all servers together, beside those of streams; 512 by default, at
    /// least 1. If they are all
    /// busy, the request that has waited longest gets the next place; servers that already have connections let up to
    /// this many later requests to others go first.
    public var maximumConnections = 512

    /// The maximum number of streams of one server at a time, which do not count as its connections for requests; 256 by
    /// default. One more fails with `overloaded`, before anything is sent. For downloads to wait for each other instead,
    /// give them a client with a `ConcurrencyLimitMiddleware`.
    ///
    /// Streams are GraphQL subscriptions over event streams or multipart, an `APIClient`'s responses in parts and downloads,
    /// and from their head on all successful responses that are read as they arrive
    /// (`HTTPRequest.readsWholeResponse`). If there is no place for one of the last, an event stream and a multipart
    /// response, which may never end, fail with `overloaded`, too; any other stays one of the server's connections for
    /// requests until it ends. WebSockets are counted on connections in HTTP/2, and have connections of their own beyond the
    /// limit.
    public var maximumStreamsPerOrigin = 256

    /// How long an idle connection is kept; 50 seconds by default, and less if the server says so, by a second less
    /// than its `Keep-Alive: timeout=`. Many load balancers and servers close after 60 seconds of idleness, without
    /// notice: stay below that.
    public var idleTime = Duration.seconds(50)

    /// How long a connection may have been idle to carry a request that is not
    /// `HTTPRequest.isReplayable`; 1 second by default. If there is none, a new connection is opened for the request.
    ///
    /// A server may close an idle connection at any time, and a request that is then in flight is lost (RFC 9112,
    /// section 9.5). One that is replayable is sent again. Common servers close after 2 seconds (Gunicorn) or 5
    /// (uvicorn, Node.js). With zero, only a connection that has just become free for a request that waited is used
    /// again; with ``idleTime`` or more, all are used alike.
    public var idleTimeUnlessReplayable = Duration.seconds(1)

    /// How old a connection may become; 5 minutes by default. An older one is closed after its response, so that
    /// requests follow a server's name to a new address even if connections are never idle. Up to a tenth of it is left
    /// out at random, so that connections that were made together do not all end together.
    public var connectionLifetime = Duration.seconds(300)

    /// How the system finds out that the peer of a connection is gone.
    public var liveness = Liveness()

    /// Which servers `https` trusts, and the certificate that it shows to them.
    public var tls = TLSConfiguration()

    /// Called whenever certificates or keys were read again because their files have changed: with `nil` if new
    /// connections use them from now on, and otherwise with the reason, of the kind `insecure`, why new connections
    /// still use those from before. Called on a thread of its own, at most once a second and only while connections are
    /// made; see ``TLSConfiguration``.
    public var onCertificateReload: (@Sendable (RequestError?) -> Void)?

    /// Gives the addresses of a host, of servers as of proxies, for service discovery, hosts with fixed addresses, and
    /// tests. It returns numeric IPv4 or IPv6 addresses, the preferred first, or `nil` to have the system look the name
    /// up; what it throws becomes the `cause` of an error of the kind `cannotConnect`.
    ///
    /// It is called for each connection, not for each request; connections to one host that are made at the same time
    /// share a call. It may block, as it has a thread to itself; the deadline for connecting applies meanwhile. The
    /// name is in lower case. `Host`, TLS and the certificate's name stay those of the URL.
    ///
    ///     configuration.resolver = { ["api.test": ["127.0.0.1"]][$0] }
    public var resolver: (@Sendable (_ host: String) throws -> [String]?)?

    /// The header `User-Agent` (RFC 9110, section 10.1.5) of requests that have none, which some servers refuse; `nil`
    /// for none. By default the name and version of this transport. If it is not valid in a header, requests fail with
    /// `invalidRequest`.
    public var userAgent: String? = "SocketTransport/\(SDKVersion.current)"

    /// Which requests go through a proxy; by default those that the environment variables specify.
    public var proxy = ProxyConfiguration.environment

    /// The versions of HTTP that requests may be sent in; by default HTTP/2 where the server of an `https` URL chooses it, and
    /// otherwise HTTP/1.1. A WebSocket opens no connection in HTTP/2, but shares one that is there (RFC 8441). What a proxy
    /// passes on in clear text is HTTP/1.1.
    ///
    /// On a connection in HTTP/2, as many requests are in progress as the server allows; where that is not enough, there are
    /// more connections, up to ``maximumConnectionsPerOrigin``.
    public var httpVersions = HTTPVersions.negotiated

    /// When a request that a server has refused more than once, without processing it, is sent again; the first time, it
    /// is at once.
    var refusalBackoff = Backoff(initial: .seconds(1), maximum: .seconds(16), jitter: 0.1)

    /// The path of a Unix domain socket to which all requests go, whatever host their URLs have.
    public var unixSocketPath: String?

    /// What becomes of bodies whose content coding is unknown; they are passed on by default. The body of a response
    /// to a request with `Accept-Encoding: identity`, or of one with status 206, is always passed on as it is.
    public var undecodableBodies = UndecodableBodies.passedOn

    /// Makes a configuration with the default values.
    public init() {}
  }
}

extension SocketTransport.Configuration {
  /// Which versions of HTTP a transport speaks. Cases may be added.
  @nonexhaustive
  public enum HTTPVersions: Hashable, Sendable {
    /// HTTP/1.1 alone.
    case http1
    /// HTTP/2 where the server of an `https` URL chooses it (ALPN, RFC 7301), otherwise HTTP/1.1.
    case negotiated
    /// As `negotiated`, and HTTP/2 to the servers of `http` URLs, which have to be known to speak it (RFC 9113, section
    /// 3.3).
    case priorKnowledge

    /// Whether a connection may speak HTTP/2.
    func allowHTTP2(isSecure: Bool) -> Bool {
      switch self {
      case .http1: false
      case .negotiated: isSecure
      case .priorKnowledge: true
      }
    }
  }

  /// How the system finds out that the peer of a TCP connection is gone without having said so: its machine or a
  /// firewall on the way dropped the connection. A request on it then fails with `connectionLost`, and an idle
  /// connection is not used again. By default, that takes a minute at most.
  ///
  /// Every connection also has `TCP_NODELAY` set, so that small requests are not held back.
  public struct Liveness: Hashable, Sendable {
    /// The silence after which the system begins to probe whether the peer is still there: `SO_KEEPALIVE` with
    /// `TCP_KEEPIDLE`, in whole seconds; 30 seconds by default. `nil` for never. Firewalls that forget silent
    /// connections, some after a few minutes, keep one that is probed.
    public var probeAfter: Duration? = .seconds(30)

    /// The time between two probes: `TCP_KEEPINTVL`, in whole seconds; 10 seconds by default.
    public var probeInterval = Duration.seconds(10)

    /// The number of probes without a response after which the connection counts as broken: `TCP_KEEPCNT`; 3 by
    /// default.
    public var probeCount = 3

    /// How long what was sent may remain unacknowledged before the connection counts as broken: `TCP_USER_TIMEOUT`
    /// (RFC 9293, section 3.8.3), in milliseconds; a minute by default. On Linux it also takes the place of
    /// ``probeCount``, so it should be what the probes take together. `nil` for the system's own limit, about a
    /// quarter of an hour. Only on Linux.
    public var unacknowledgedTimeout: Duration? = .seconds(60)

    /// Makes a value with the defaults.
    public init() {}
  }
}

extension SocketTransport {
  /// What a transport's connections are doing, and how many requests wait for one.
  public struct Statistics: Hashable, Sendable {
    /// Numbers of connections by what they are doing, and of waiting requests.
    public struct Counts: Hashable, Sendable {
      /// The connections that are being opened.
      public var opening = 0

      /// The open connections that no request uses.
      public var idle = 0

      /// The open connections that carry a request.
      public var busy = 0

      /// The open connections that carry a stream; see ``Configuration/maximumStreamsPerOrigin``.
      public var streams = 0

      /// The requests that wait for a connection.
      public var waiting = 0

      /// All connections, including those that are being opened.
      public var connections: Int { opening + idle + busy + streams }
    }

    /// The numbers for all origins together.
    public internal(set) var total = Counts()

    /// The numbers for each origin that has connections or waiting requests. Requests in clear text that go through a
    /// proxy count for the proxy, which is whom they are connected to.
    public internal(set) var origins: [HTTPOrigin: Counts] = [:]
  }
}

extension SocketTransport: CustomReflectable {
  /// What printing and `dump` show: the configuration, and nothing of the requests on their way, which have secrets.
  public var customMirror: Mirror { Mirror(self, children: [(label: "configuration", value: configuration)]) }
}

extension SocketTransport.Statistics.Counts {
  mutating func add(_ other: Self) {
    opening += other.opening
    idle += other.idle
    busy += other.busy
    streams += other.streams
    waiting += other.waiting
  }
}
