public import HTTP

#if SocketHTTP && os(Linux)
  public import SocketHTTP

  /// The best transport for this platform: on Linux the one on sockets, because `URLSession` is not reliable there. The
  /// package's trait `SocketHTTP`, which is on by default, links it.
  public typealias PlatformTransport = SocketTransport
#elseif canImport(Darwin)
  public import URLSessionHTTP

  /// The best transport for this platform.
  public typealias PlatformTransport = URLSessionTransport
#endif

#if SocketHTTP && os(Linux) || canImport(Darwin)
  extension HTTPTransport where Self == PlatformTransport {
    /// Makes the transport for this platform, with connections of its own.
    public static func platform() -> PlatformTransport { PlatformTransport() }
  }
#endif
