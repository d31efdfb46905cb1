public import HTTP

#if os(Linux)
  /// The best transport for this platform: on Linux the one on sockets, because `URLSession` is not reliable there.
  public typealias PlatformTransport = SocketTransport
#else
  public import URLSessionHTTP

  /// The best transport for this platform.
  public typealias PlatformTransport = URLSessionTransport
#endif

extension HTTPTransport where Self == PlatformTransport {
  /// Makes the transport for this platform, with connections of its own.
  public static func platform() -> PlatformTransport { PlatformTransport() }
}
