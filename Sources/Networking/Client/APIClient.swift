public import Foundation
public import HTTP
import JSON
public import Streams

/// Where sessions are sent, and how: a value that is configured once and passed in.
///
///     let client = try APIClient(baseURL: url)
///     GetUser(id: "7").get(on: client)
public struct APIClient: Sendable {
  /// The URL that the paths of sessions are below; for GraphQL the endpoint itself.
  public var baseURL: URL { target.url }

  private let target: HTTPTarget

  /// Whether `http` may go to other hosts than this machine.
  public let allowsCleartext: Bool

  /// Moves the bytes.
  public var transport: any HTTPTransport

  /// Header fields for each request that has none of their name.
  public var defaultHeaders: HTTPHeaders

  /// See each request and answer as bytes; the first is outermost.
  public var middlewares: [any HTTPMiddleware]

  /// See each session's decoded answer; the first is outermost.
  public var interceptors: [any SessionInterceptor]

  /// Hears what becomes of each request, all its attempts and whether its answer could be read; nobody unless set, which
  /// costs nothing.
  public var observer: (any RequestObserver)?

  /// The deadlines of each request.
  public var timeouts: HTTPTimeouts

  /// The greatest body of an answer, in bytes; 16 MiB unless set.
  public var responseBodyLimit = 16 << 20

  /// Writes bodies; a `JSONCoder` unless set.
  public var encoder: any BodyEncoder = JSONCoder()

  /// Reads bodies; a `JSONCoder` unless set.
  public var decoder: any BodyDecoder = JSONCoder()

  /// Makes a client.
  ///
  /// Throws `invalidRequest` for a URL that is not absolute, is neither `http` nor `https`, or holds credentials, and
  /// for an `http` URL to another host than this machine unless `allowsCleartext`: anybody on the way could read it.
  public init(
    baseURL: URL, transport: any HTTPTransport = .platform(),
    defaultHeaders: HTTPHeaders = .platform(),
    middlewares: [any HTTPMiddleware] = [], interceptors: [any SessionInterceptor] = [],
    timeouts: HTTPTimeouts = HTTPTimeouts(), allowsCleartext: Bool = false
  ) throws(RequestError) {
    target = try HTTPTarget(baseURL)
    self.transport = transport
    self.defaultHeaders = defaultHeaders
    self.middlewares = middlewares
    self.interceptors = interceptors
    self.timeouts = timeouts
    self.allowsCleartext = allowsCleartext
    try checkCleartext(target)
  }

  private func checkCleartext(_ target: HTTPTarget) throws(RequestError) {
    guard allowsCleartext || target.isSecure || target.isLoopback else {
      throw RequestError(
        .invalidRequest, "'\(target.url.shownSafely)' would send everything in clear text: use https, or allow it.")
    }
  }
}

extension APIClient {
  /// Sends a session with a method: a cold stream of one element, as ``APISession`` says.
  public func send<Session: APISession>(
    _ session: Session, _ method: HTTPMethod
  ) -> Observable<Session.ResponseType> {
    guard !interceptors.isEmpty else { return exchange(session, method) }
    let exchange: @Sendable (Session) -> Observable<Session.ResponseType> = { self.exchange($0, method) }
    let chain = interceptors.reversed().reduce(exchange) { next, interceptor in
      { session in interceptor.intercept(session, next: next) }
    }
    return chain(session)
  }

  private func exchange<Session: APISession>(
    _ session: Session, _ method: HTTPMethod
  ) -> Observable<Session.ResponseType> {
    .deferred {
      let sent = SentFields(of: session)
      do {
        return try answer(to: session, method, noting: sent)
      } catch {
        throw sent.described(error)
      }
    }
  }

  private func answer<Session: APISession>(
    to session: Session, _ method: HTTPMethod, noting sent: SentFields
  ) throws -> Observable<Session.ResponseType> {
    var request = try request(of: session, method)
    request.headers = request.headers.merging(missingFrom: defaultHeaders)
    request.secrets = sent.secrets
    guard let observer else { return answer(to: request, of: session, noting: sent) }
    let observation = RequestObservation(observer, &request, scheduler: ConcurrentScheduler())
    return observation.watch(answer(to: request, of: session, noting: sent), isSingle: true)
  }

  private func answer<Session: APISession>(
    to request: HTTPRequest, of session: Session, noting sent: SentFields
  ) -> Observable<Session.ResponseType> {
    // A middleware may fail before it sends anything, so what is sent is noted before them, too.
    sent.note(request)
    let middlewares: [any HTTPMiddleware] = middlewares.isEmpty ? [] : middlewares + [sent]
    let (parser, isSecret) = (session.responseParser, session.isResponseSecret)
    return transport.send(request, through: middlewares).collect(upTo: responseBodyLimit).map { [decoder] response in
      do throws(RequestError) {
        return sent.described(try parser.parse(response, by: decoder))
      } catch {
        throw error.about(response, quoting: isSecret ? nil : sent.redactor.excerpt(of: response.body))
      }
    }.catch { .error(sent.described($0)) }
  }

  private func request(of session: some APISession, _ method: HTTPMethod) throws -> HTTPRequest {
    var request: HTTPRequest
    do {
      request = try session.makeRequest(method, for: self)
      if let key = session.idempotencyKey { try request.setIdempotencyKey(key) }
    } catch let error as EncodingError {
      throw RequestError(
        .invalidRequest, "The parameters cannot be written: \(DecodingFailure(error))", cause: UnsendableSession())
    } catch var error as RequestError where error.kind == .invalidRequest {
      error.cause = error.cause ?? UnsendableSession()
      throw error
    }
    if request.target !== target { try checkCleartext(request.target) }
    return request
  }

  /// Where a path below the base URL is.
  func target(forPath path: String) throws(RequestError) -> HTTPTarget {
    path.isEmpty ? target : try HTTPTarget(url(forPath: path))
  }

  private func url(forPath path: String) throws(RequestError) -> URL {
    // Servers take an encoded dot for a dot (WHATWG URL, section 4.4).
    let segments = path.lowercased().replacingOccurrences(of: "%2e", with: ".")
      .split(separator: "/", omittingEmptySubsequences: false)
    guard path.isEncodedPath, !segments.contains("."), !segments.contains("..") else {
      throw RequestError(
        .invalidRequest, "'\(path)' is no path: percent-encode its segments, and leave out queries, '.' and '..'.")
    }
    guard var components = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else {
      throw RequestError(.invalidRequest, "'\(baseURL.shownSafely)' cannot take a path.")
    }
    let base = components.percentEncodedPath[...]
    components.percentEncodedPath =
      (base.last == "/" ? base.dropLast() : base) + "/" + (path.first == "/" ? path.dropFirst() : path[...])
    guard let url = components.url else {
      throw RequestError(.invalidRequest, "'\(baseURL.shownSafely)' cannot take the path '\(path)'.")
    }
    return url
  }
}

extension RequestError {
  /// The error with what is known once an answer is there: its status and, where that helps, the start of its body.
  fileprivate func about(_ response: HTTPResponse, quoting excerpt: @autoclosure () -> String?) -> RequestError {
    var error = self
    error.status = status ?? response.head.status
    if [.httpStatus, .undecodable].contains(kind) { error.excerpt = excerpt() }
    return error
  }
}

extension String {
  /// Whether the text is a path as RFC 3986, section 3.3 writes it.
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
