public import HTTPClientCore
public import Streams
public import StrictJSON
public import SystemBase

/// Where and how sessions are sent: a value that is configured once and passed in.
///
///     let client = try APIClient(baseURL: url)
///     GetUser(id: "7").get(on: client)
public struct APIClient: Sendable {
  /// The URL that sessions' paths are appended to; for GraphQL, the endpoint itself.
  public var baseURL: URL { target.url }

  let target: HTTPTarget

  /// Whether `http` is allowed to hosts other than this machine.
  public let allowsCleartext: Bool

  /// Moves the bytes.
  public var transport: any HTTPTransport {
    didSet { stack = MiddlewareStack(middlewares) }
  }

  /// Default header fields: added to each request that has no field of that name. `HTTPHeaders.userAgent()` by default.
  public var defaultHeaders: HTTPHeaders

  /// See each request and response as bytes; the first is outermost. A request is for the account that an
  /// `AuthMiddleware` among them has a token of when it begins: however long it waits, it is sent for no other.
  public var middlewares: [any HTTPMiddleware] {
    didSet { stack = MiddlewareStack(middlewares) }
  }

  /// The middlewares, over this transport: copies have it in common until others are set.
  private(set) var stack: MiddlewareStack

  /// See each session's decoded response; the first is outermost.
  public var interceptors: [any SessionInterceptor]

  /// How GraphQL operations and subscriptions travel.
  public var graphQL = GraphQLSettings()

  /// Receives the outcome of each request, all its attempts, and whether its response could be decoded. None by
  /// default, which costs nothing.
  public var observer: (any RequestObserver)?

  /// The deadlines of each request.
  public var timeouts: HTTPTimeouts

  /// The greatest body of a response, in bytes; 16 MiB by default.
  public var responseBodyLimit: Int

  /// Encodes bodies; a `JSONCoder` by default.
  public var encoder: any BodyEncoder

  /// Decodes bodies; a `JSONCoder` by default.
  public var decoder: any BodyDecoder

  /// Makes a client. Without `transport`, another initialiser takes the one of the platform.
  ///
  /// Throws `invalidRequest` for a URL that is not absolute, is neither `http` nor `https`, or contains credentials,
  /// and, unless `allowsCleartext`, for an `http` URL to another host: anybody on the way could read the traffic.
  public init(
    baseURL: URL, transport: any HTTPTransport, defaultHeaders: HTTPHeaders = .userAgent(),
    middlewares: [any HTTPMiddleware] = [], interceptors: [any SessionInterceptor] = [],
    observer: (any RequestObserver)? = nil, timeouts: HTTPTimeouts = HTTPTimeouts(),
    responseBodyLimit: Int = 16 << 20, encoder: any BodyEncoder = JSONCoder(), decoder: any BodyDecoder = JSONCoder(),
    allowsCleartext: Bool = false
  ) throws(RequestError) {
    target = try HTTPTarget(baseURL)
    self.transport = transport
    self.defaultHeaders = defaultHeaders
    self.middlewares = middlewares
    stack = MiddlewareStack(middlewares)
    self.interceptors = interceptors
    self.observer = observer
    self.timeouts = timeouts
    self.responseBodyLimit = responseBodyLimit
    self.encoder = encoder
    self.decoder = decoder
    self.allowsCleartext = allowsCleartext
    try checkCleartext(target)
  }

  func checkCleartext(_ target: HTTPTarget) throws(RequestError) {
    guard allowsCleartext || target.isSecure || target.isLoopback else {
      throw RequestError(
        .invalidRequest,
        "'\(target.url.shownSafely)' would send everything in clear text: use https, or set allowsCleartext.",
        cause: WrongSettings())
    }
  }
}

extension APIClient {
  /// The URL of a path below the base URL, for sessions that make their requests themselves.
  ///
  /// Throws `invalidRequest` if the path is not percent-encoded, or has a segment `.` or `..`, which could leave the
  /// base URL.
  public func url(forPath path: String) throws(RequestError) -> URL { try target(forPath: path).url }

  /// The URL as a parsed target.
  func target(forPath path: String) throws(RequestError) -> HTTPTarget {
    path.isEmpty ? target : try HTTPTarget(url(appending: path))
  }

  private func url(appending path: String) throws(RequestError) -> URL {
    guard path.isEncodedPath, !path.hasDotSegment else {
      throw RequestError(
        .invalidRequest, "'\(path)' is no path: percent-encode its segments, and leave out queries, '.' and '..'.")
    }
    // The base has no fragment; its query stays behind the path.
    let base = baseURL.absoluteString
    let query = base.utf8.firstIndex(of: UInt8(ascii: "?")) ?? base.endIndex
    let start = base[..<query]
    let text =
      (start.last == "/" ? start.dropLast() : start) + "/" + (path.first == "/" ? path.dropFirst() : path[...])
    guard let url = URL(string: String(text + base[query...])) else {
      throw RequestError(.invalidRequest, "'\(baseURL.shownSafely)' cannot take the path '\(path)'.")
    }
    return url
  }
}

extension String {
  /// Whether one segment is `.` or `..`; servers take an encoded dot as a dot (WHATWG URL, section 4.4).
  fileprivate var hasDotSegment: Bool {
    guard utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return false }
    let segments = lowercased().replacing("%2e", with: ".").split(separator: "/")
    return segments.contains(".") || segments.contains("..")
  }

  /// Whether the text is a path by RFC 3986, section 3.3.
  fileprivate var isEncodedPath: Bool {
    var bytes = utf8.makeIterator()
    while let byte = bytes.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = bytes.next(), let low = bytes.next(), high.hexDigitValue != nil, low.hexDigitValue != nil
        else { return false }
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        continue
      default:
        guard "-._~!$&'()*+,;=:@/".utf8.contains(byte) else { return false }
      }
    }
    return true
  }
}

extension APIClient {
  /// Sends a session's request with a method: a cold stream of one element, as ``APISession`` says.
  ///
  ///     client.send(AddPhoto(photo), method: .post) { progress in … }
  ///
  /// `onProgress` is called as `HTTPRequest.onProgress` is, for the upload and the download; when the request is sent
  /// again, the counts start over.
  public func send<Session: APISession>(
    _ session: Session, method: HTTPMethod, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) -> Observable<Session.ResponseType> {
    guard !interceptors.isEmpty else { return response(to: session, method, onProgress) }
    let innermost: @Sendable (Session) -> Observable<Session.ResponseType> = { response(to: $0, method, onProgress) }
    let chain = interceptors.reversed().reduce(innermost) { next, interceptor in
      { session in interceptor.intercept(session, next: next) }
    }
    return .deferred { chain(session) }
  }

  /// Sends a session's request, and writes the response's body into a file: a cold stream of the response's head.
  ///
  ///     client.download(GetPhoto(id: "7"), to: file).subscribe(onNext: { head in … })
  ///
  /// The file appears only once it is complete; if the download fails, the target stays as it was (see
  /// `download(to:upTo:)` in the module HTTPClientCore). The session's parser and the interceptors are not used, and `limit`
  /// replaces `responseBodyLimit`.
  ///
  /// The client's timeouts, middlewares and observer apply. The default total of 60 seconds ends with the response's
  /// head, so that a large file may take longer; one that was set holds to the end. The idle timeout ends a download
  /// that stalls.
  ///
  /// `onProgress` is called as `HTTPRequest.onProgress` is; when the request is sent again, the counts start over.
  ///
  /// Fails with a `RequestError` that names the operation: `httpStatus` or `redirectRefused` if the status is not a
  /// success, `tooLarge`, or `cannotWrite` if the file cannot be written.
  public func download(
    _ session: some APISession, method: HTTPMethod = .get, to file: URL, upTo limit: Int = .max,
    onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) -> Observable<HTTPResponseHead> {
    .deferred {
      try exchange(session, method, onProgress, isDownload: true) { parts, _ in parts.download(to: file, upTo: limit) }
    }
  }

  private func response<Session: APISession>(
    to session: Session, _ method: HTTPMethod, _ onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<Session.ResponseType> {
    .deferred {
      try exchange(session, method, onProgress) { parts, sent in
        let (parser, isSecret) = (session.responseParser, session.isResponseSecret)
        return parts.collect(upTo: responseBodyLimit).map { [decoder] response in
          do throws(RequestError) {
            return try parser.parse(response, by: decoder, to: sent)
          } catch {
            throw error.about(response, quoting: isSecret ? nil : sent.redactor.excerpt(of: response.body))
          }
        }
      }
    }
  }

  /// Sends a session's request; `read` turns the response's parts into the output, which has one element if the
  /// response is read as a whole.
  func exchange<Output>(
    _ session: some APISession, _ method: HTTPMethod, _ onProgress: (@Sendable (HTTPProgress) -> Void)? = nil,
    isDownload: Bool = false, readsWholeResponse: Bool = true,
    read: (Observable<HTTPResponsePart>, SentFields) -> Observable<Output>
  ) throws -> Observable<Output> {
    let sent = SentFields(of: session)
    do {
      var request = try request(of: session, method)
      request.headers = request.headers.adding(defaults: defaultHeaders)
      // Middlewares may fail before the innermost one is reached, so the request is recorded here, too.
      sent.record(&request)
      request.context.isResponseSecret = session.isResponseSecret
      request.context.isSecret = session.isResponseSecret || !session.secrets.isEmpty
      request.readsWholeResponse = readsWholeResponse
      request.isDownload = isDownload
      request.isStream = !readsWholeResponse
      request.onProgress = onProgress ?? request.onProgress
      if !middlewares.isEmpty {
        request.enter(stack.credentials)
        if stack.asksGateFirst { request.context.sendGate = SendGate.Shared() }
      }
      var observation: RequestObservation?
      if let observer { observation = RequestObservation(observer, &request, scheduler: ConcurrentScheduler()) }
      let output = read(parts(of: request, sent), sent)
      guard let observation else { return output.catch { .error(sent.described($0)) } }
      // `catch` ends what failed before it passes the error on. The observer sees the error before that, so that attempts
      // that a deadline ends have timed out, and were not cancelled.
      return observation.watch(output.do(onError: { throw sent.described($0) }), isSingle: readsWholeResponse)
        .catch { .error($0) }
    } catch {
      throw sent.described(error)
    }
  }

  private func parts(of request: HTTPRequest, _ sent: SentFields) -> Observable<HTTPResponsePart> {
    request.context.carrier?.send(request, recorder: sent.sent) ?? send(request, recorder: sent.sent)
  }

  /// Sends a request through the middlewares, then past those who follow its exchanges with the server, and records what
  /// these make of it.
  func send(
    _ request: HTTPRequest, recorder: SentSecrets, observers: [any HTTPMiddleware] = []
  ) -> Observable<HTTPResponsePart> {
    if middlewares.isEmpty, observers.isEmpty { return transport.send(request, through: []) }
    return stack.send(request, and: observers, by: transport, recorder: recorder)
  }

  private func request(of session: some APISession, _ method: HTTPMethod) throws -> HTTPRequest {
    var request: HTTPRequest
    do {
      request = try session.makeRequest(APICall(method, on: self))
      if let key = session.idempotencyKey { try request.setIdempotencyKey(key) }
      if let timeouts = session.timeouts { request.timeouts = timeouts }
    } catch let error as EncodingError {
      throw RequestError(.invalidRequest, "The parameters cannot be written: \(DecodingFailure(error))")
    }
    if request.target !== target { try checkCleartext(request.target) }
    return request
  }
}

extension RequestError {
  /// The error with the status of the response and, if that helps, the start of its body.
  fileprivate func about(_ response: HTTPResponse, quoting excerpt: @autoclosure () -> String?) -> RequestError {
    var error = self
    error.status = status ?? response.head.status
    if !response.head.isSuccess { error.retryAfter = retryAfter ?? response.head.retryAfter(now: Date()) }
    if [.httpStatus, .undecodable].contains(kind) { error.excerpt = excerpt() }
    return error
  }
}
