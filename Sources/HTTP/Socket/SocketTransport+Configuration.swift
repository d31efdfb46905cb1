extension SocketTransport {
  /// How a transport makes its connections, and how many.
  public struct Configuration: Sendable {
    /// The maximum number of connections to one server at a time; a request that finds them all busy waits for one. 64
    /// by default, at least 1.
    public var maximumConnectionsPerOrigin = 64

    /// The maximum number of connections at a time to all servers together; 512 by default, at least 1. If they are all
    /// busy, whoever has waited longest gets the next place; servers that already have connections let up to this many
    /// later requests to others go first.
    public var maximumConnections = 512

    /// How long an idle connection is kept; 50 seconds by default, and less if the server says so, by a second less
    /// than its `Keep-Alive: timeout=`. Many load balancers and servers close after 60 seconds of idleness, without
    /// notice: stay below that.
    public var idleTime = Duration.seconds(50)

    /// How long a connection may have been idle to carry a request that is not
    /// ``HTTPRequest/isReplayable``; 1 second by default. If there is none, a new connection is opened for the request.
    ///
    /// A server may close an idle connection at any time, and a request that is then under way is lost (RFC 9112,
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

    /// Is told whenever certificates or keys were read again because their files have changed: with `nil` if new
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
  /// How the system finds out that the peer of a TCP connection is gone without having said so: its machine or a
  /// firewall on the way dropped the connection. A request on it then fails with `connectionLost`, and an idle
  /// connection is not used again. By default, that takes a minute at most.
  ///
  /// Every connection also has `TCP_NODELAY` set, so that small requests are not held back.
  public struct Liveness: Hashable, Sendable {
    /// The silence after which the system begins to ask the peer whether it is still there: `SO_KEEPALIVE` with
    /// `TCP_KEEPIDLE`, in whole seconds; 30 seconds by default. `nil` for never. Firewalls that forget silent
    /// connections, some after a few minutes, keep one that is asked about.
    public var probeAfter: Duration? = .seconds(30)

    /// The time between two such questions: `TCP_KEEPINTVL`, in whole seconds; 10 seconds by default.
    public var probeInterval = Duration.seconds(10)

    /// The number of questions without an answer after which the connection counts as broken: `TCP_KEEPCNT`; 3 by
    /// default.
    public var probeCount = 3

    /// How long what was sent may remain unacknowledged before the connection counts as broken: `TCP_USER_TIMEOUT`
    /// (RFC 9293, section 3.8.3), in milliseconds; a minute by default. On Linux it also takes the place of
    /// ``probeCount``, so it should be what the questions take together. `nil` for the system's own limit, about a
    /// quarter of an hour. Only on Linux.
    public var unacknowledgedTimeout: Duration? = .seconds(60)

    /// Makes a value with the defaults.
    public init() {}
  }
}
