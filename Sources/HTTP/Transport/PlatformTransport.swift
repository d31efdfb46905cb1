#if os(Linux)
  /// The transport that suits this platform best: on Linux, where `URLSession` cannot be trusted, the one on sockets.
  public typealias PlatformTransport = SocketTransport
#else
  /// The transport that suits this platform best.
  public typealias PlatformTransport = URLSessionTransport
#endif

extension HTTPTransport where Self == PlatformTransport {
  /// A transport that suits this platform, with connections of its own.
  public static func platform() -> PlatformTransport { PlatformTransport() }
}
