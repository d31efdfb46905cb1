#if SocketHTTP && os(Linux) || canImport(Darwin)
  public import HTTPClientCore
  public import StrictJSON
  public import SystemBase

  #if os(Linux)
    public import SocketHTTP

    /// The best transport for this platform: on Linux the one on sockets, because `URLSession` is not reliable there.
    /// The package's trait `SocketHTTP`, which is on by default, links it.
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

  extension APIClient {
    /// Makes a client with the transport of the platform, with connections of its own; share the client rather than
    /// make several.
    ///
    /// Throws `invalidRequest` for the URLs that the initialiser with a transport refuses.
    public init(
      baseURL: URL, defaultHeaders: HTTPHeaders = .userAgent(), middlewares: [any HTTPMiddleware] = [],
      interceptors: [any SessionInterceptor] = [], observer: (any RequestObserver)? = nil,
      timeouts: HTTPTimeouts = HTTPTimeouts(), responseBodyLimit: Int = 16 << 20,
      encoder: any BodyEncoder = JSONCoder(), decoder: any BodyDecoder = JSONCoder(), allowsCleartext: Bool = false
    ) throws(RequestError) {
      try self.init(
        baseURL: baseURL, transport: .platform(), defaultHeaders: defaultHeaders, middlewares: middlewares,
        interceptors: interceptors, observer: observer, timeouts: timeouts, responseBodyLimit: responseBodyLimit,
        encoder: encoder, decoder: decoder, allowsCleartext: allowsCleartext)
    }
  }
#else
  public import HTTPClientCore
  public import StrictJSON
  public import SystemBase

  extension APIClient {
    /// Not without a transport.
    @available(
      *, unavailable,
      message: "there is no transport: pass one, or enable the trait SocketHTTP of the package MomentsSDK"
    )
    public init(
      baseURL: URL, defaultHeaders: HTTPHeaders = .userAgent(), middlewares: [any HTTPMiddleware] = [],
      interceptors: [any SessionInterceptor] = [], observer: (any RequestObserver)? = nil,
      timeouts: HTTPTimeouts = HTTPTimeouts(), responseBodyLimit: Int = 16 << 20,
      encoder: any BodyEncoder = JSONCoder(), decoder: any BodyDecoder = JSONCoder(), allowsCleartext: Bool = false
    ) throws(RequestError) {
      throw RequestError(.invalidRequest, "There is no transport.")
    }
  }
#endif
