package import Foundation
public import HTTPClientCore
public import Streams
import SystemBase

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests through Foundation's `URLSession`, without its cache, cookies, stored credentials, redirects and
/// timers.
///
/// Deadlines are this type's own, to the millisecond. A `URLSession` gives no sign of life before the head of the
/// response, so `idle` counts from the start, and `connect` applies only if there is no `idle`. Calls come on a serial
/// queue of the request's own. It never calls `onConnected`, since Foundation does not report connections: observers
/// get no connect time, and do not learn whether a connection was reused.
///
/// Limitations that are due to Foundation on Linux (Swift 6.3):
/// - A server that closes the connection in the middle of a response's head, sends trailers after a chunked body, or
///   announces a huge `Content-Length` crashes the process.
/// - A request with a body waits for its deadline if its kept connection dies before the response begins.
/// - Of a response that can be read in two ways, such as one with two lengths, it takes one.
/// - What is not HTTP may be reported as a lost connection, or wait for the deadline.
/// - That a request never left is known only if it is replayable, or has a body that is not empty.
/// - There is no back-pressure: what a slow observer has not taken yet is buffered in memory.
/// - A body that comes faster than it can be read keeps the session from everything else until it pauses: after
///   disposal it is read on and thrown away, for seconds, and other requests begin only then. One of these that is disposed
///   of as it begins may still be sent.
/// - Content codings such as gzip are not requested, and are refused: a truncated response would look complete.
/// - TLS cannot be configured: the system's certificate authorities are used, and verification is always on.
/// - All requests of a process share one queue inside Foundation, which limits them to about 2,500 requests a second.
public final class URLSessionTransport: HTTPTransport {
  private let session: URLSession
  private let delegate = SessionDelegate()
  /// Where the session is called: on Linux each call waits for what the session is reading.
  private let sending = DispatchQueue(label: "URLSessionTransport.sending")
  /// Apart from those, which may wait for just the exchange that is cancelled.
  private let cancelling = DispatchQueue(label: "URLSessionTransport.cancelling")

  /// Makes a transport with connections of its own.
  public convenience init() {
    self.init(delegateQueue: nil)
  }

  /// Makes a transport whose session puts what its delegate is to do into a queue, which has to do one thing at a time. The
  /// session waits for that, so that a queue that blocks keeps it busy.
  package init(delegateQueue: OperationQueue?) {
    let configuration = URLSessionConfiguration.ephemeral
    // With a cache, cancelling a task that is just ending crashes; also, the cache's key leaves out the query of a URL.
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.urlCredentialStorage = nil
    // Foundation's timers have a resolution of whole seconds; they must not fire before our own.
    configuration.timeoutIntervalForRequest = 365 * 86400
    configuration.timeoutIntervalForResource = 365 * 86400
    // Foundation reads the variables itself; what they hold is kept secret here.
    _ = ProxyConfiguration.environment
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
  }

  deinit {
    // Breaks the session's strong reference to its delegate. A subscriber that still waits keeps this object alive.
    session.finishTasksAndInvalidate()
  }

  /// A cold stream of the response's parts; see `HTTPTransport.send(_:)`.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    Observable<HTTPResponsePart>.create { [self] observer in
      do throws(RequestError) {
        try request.checkFraming()
      } catch {
        observer.onError(error)
        return Disposables.create()
      }
      let exchange = URLSessionExchange(request, observer: observer)
      let disposal = DisposeBag()
      exchange.start()
      sending.async { [self] in
        guard !disposal.isDisposed else { return }
        let task = session.dataTask(with: URLRequest(request))
        delegate.add(exchange, for: task)
        disposal.insert(
          Disposables.create { [self] in
            if delegate.remove(task) != nil { cancelling.async { task.cancel() } }
          })
        // To make the task may have taken minutes.
        if !disposal.isDisposed { task.resume() }
      }
      disposal.insert(Disposables.create { exchange.stop() })
      return disposal
    }
  }
}

/// Passes a session's callbacks on to the exchanges of its tasks.
private final class SessionDelegate: NSObject, URLSessionDataDelegate {
  private let exchanges = Locked<[Int: URLSessionExchange]>([:])

  func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
    let identifier = task.taskIdentifier
    exchanges.withLock { $0[identifier] = exchange }
  }

  func remove(_ task: URLSessionTask) -> URLSessionExchange? {
    let identifier = task.taskIdentifier
    return exchanges.withLock { $0.removeValue(forKey: identifier) }
  }

  private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
    let identifier = task.taskIdentifier
    return exchanges.withLock { $0[identifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let head = HTTPResponseHead(response) { exchange(of: dataTask)?.didReceive(head) }
    completionHandler(.allow)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    exchange(of: task)?.didSend(totalBytesSent)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.didReceive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let head = task.response.flatMap { HTTPResponseHead($0) }
    // A task whose challenge was rejected ends as cancelled, but has the response that contained the challenge.
    let isRejectedChallenge = (error as? URLError)?.code == .cancelled && head != nil
    remove(task)?.didComplete(head, error: isRejectedChallenge ? nil : error.map { RequestError(urlSession: $0) })
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // Foundation would send every header along, to any host, and lose the body.
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    // A challenge that is not completed would make the task hang for ever.
    let isTrust = challenge.protectionSpace.authenticationMethod == "NSURLAuthenticationMethodServerTrust"
    completionHandler(isTrust ? .performDefaultHandling : .rejectProtectionSpace, nil)
  }
}

extension URLRequest {
  fileprivate init(_ request: HTTPRequest) {
    var url = request.url
    if var components = URLComponents(url: url, resolvingAgainstBaseURL: true) {
      components.scheme = components.scheme?.lowercased()  // Foundation on Linux does not accept "HTTP://"
      url = components.url ?? url
    }
    self.init(url: url)
    httpMethod = request.method.rawValue
    httpBody = request.body
    httpShouldHandleCookies = false
    for field in request.headers { addValue(field.value, forHTTPHeaderField: field.name) }
    setValue("identity", forHTTPHeaderField: "Accept-Encoding")
  }
}

extension HTTPResponseHead {
  fileprivate init?(_ response: URLResponse) {
    guard let response = response as? HTTPURLResponse else { return nil }
    let fields = response.allHeaderFields.compactMap { name, value in
      (name as? String).map { HTTPField(received: $0, value: "\(value)".comparable) }
    }
    self.init(status: response.statusCode, headers: HTTPHeaders(fields.sorted { $0.name < $1.name }))
  }
}

extension RequestError {
  /// The error in this SDK's terms. On Linux the code is often wrong, and libcurl's text says more: "cannot connect" is the
  /// code of every failure of an exchange whose host has refused at one of its addresses, and then accepted at another.
  package init(urlSession error: any Error) {
    let text = error.localizedDescription
    let kind: Kind =
      switch (error as? URLError)?.code {
      case _ where text.hasPrefix("Too large response headers") || text.hasPrefix("Received HTTP/0.9"): .badResponse
      case .cannotConnectToHost where RequestError.saysRefused(text): .cannotConnect
      case .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet: .cannotConnect
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
        .clientCertificateRequired:
        .insecure
      case .badServerResponse where text != "Empty reply from server": .badResponse
      case .unsupportedURL, .cannotParseResponse: .badResponse
      case .unknown where RequestError.saysRefused(text): .cannotConnect  // unreachable
      default: .connectionLost
      }
    self.init(kind, "\(text).")
  }

  /// Whether libcurl says that there never was a connection.
  private static func saysRefused(_ text: String) -> Bool {
    ["Failed to connect to ", "Couldn't connect to server", "Could not connect to server"]
      .contains { text.hasPrefix($0) }
  }
}
