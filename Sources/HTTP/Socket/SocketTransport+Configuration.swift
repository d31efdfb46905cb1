extension SocketTransport {
  /// How a transport makes its connections, and how many.
  public struct Configuration: Sendable {
    /// The maximum number of connections to one server at a time; a request that finds them all busy waits for one. 64
    /// by default, at least 1.
    public var maximumConnectionsPerOrigin = 64

    /// The maximum number of connections at a time to all servers together; 512 by default, at least 1.
    public var maximumConnections = 512

    /// How long an idle connection is kept; 60 seconds by default, and less if the server says so.
    public var idleTime = Duration.seconds(60)

    /// How old a connection may become; 5 minutes by default. An older one is closed after its response, so that
    /// requests follow a server's name to a new address even if connections are never idle. Up to a tenth of it is left
    /// out at random, so that connections that were made together do not all end together.
    public var connectionLifetime = Duration.seconds(300)

    /// Which servers `https` trusts, and the certificate that it shows to them.
    public var tls = TLSConfiguration()

    /// Which requests go through a proxy; by default those that the environment variables specify.
    public var proxy = ProxyConfiguration.environment

    /// The path of a Unix domain socket to which all requests go, whatever host their URLs have.
    public var unixSocketPath: String?

    /// Makes a configuration with the default values.
    public init() {}
  }
}
