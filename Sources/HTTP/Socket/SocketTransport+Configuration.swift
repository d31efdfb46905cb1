extension SocketTransport {
  /// How a transport makes its connections, and how many of them.
  public struct Configuration: Sendable {
    /// Connections to one server at a time; a request that finds them all busy waits for one. 64 unless set, at least 1.
    public var maximumConnectionsPerOrigin = 64

    /// Connections at a time to all servers together; 512 unless set, at least 1.
    public var maximumConnections = 512

    /// How long a connection is kept without a request; 60 seconds unless set, and less where the server says so.
    public var idleTime = Duration.seconds(60)

    /// Which servers `https` trusts, and the certificate that it shows to them.
    public var tls = TLSConfiguration()

    /// Which requests go through a proxy: unless set, those that the environment's variables name.
    public var proxy = ProxyConfiguration.environment

    /// The path of a Unix domain socket to which all requests go, whatever host their URLs name.
    public var unixSocketPath: String?

    /// Makes a configuration with the values that are named with each property.
    public init() {}
  }
}
