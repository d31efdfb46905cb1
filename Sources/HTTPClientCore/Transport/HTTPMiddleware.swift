public import Streams

/// Stands between a client and its transport: sees each request on its way out, and the parts of its response.
///
/// Write a middleware to act on messages, whatever moves them: headers, logs, retries. To act on a session's decoded
/// response, write a `SessionInterceptor` of the module GraphQLClient.
public protocol HTTPMiddleware: Sendable {
  /// Returns the response to a request by calling `next` once, several times or not at all, with this request or
  /// another one, such as the same request to another server (``HTTPRequest/to(_:method:)``).
  ///
  /// Must not block. The stream that it returns follows the rules of ``HTTPTransport/send(_:)``.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart>

  /// What it adds to requests that may tell whose they are, for a cache outside of it; by default, nothing is known, and
  /// the cache asks the server each time.
  var addedCredentials: AddedCredentials { get }
}

extension HTTPTransport {
  /// Sends a request through middlewares, the first of them outermost.
  ///
  /// The request is for the account that an `AuthMiddleware` among them has a token of when the stream is subscribed
  /// to: wherever it waits, and however often it is sent, it goes out for no other account.
  public func send(_ request: HTTPRequest, through middlewares: [any HTTPMiddleware]) -> Observable<HTTPResponsePart> {
    guard !middlewares.isEmpty else { return exchange(request) }
    let chain = MiddlewareChain(middlewares) { exchange($0) }
    if request.context.entry != nil { return chain.send(request) }
    return .deferred { chain.send(request) }
  }

  /// Hands the request to the transport, and reports it to those who follow it.
  private func exchange(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    let (entry, onSent, observation) = (request.context.entry, request.context.onSent, request.context.observation)
    guard entry != nil || onSent != nil else {
      return observation.map { $0.attempt(request) { self.send($0) } } ?? send(request)
    }
    return .deferred {
      entry?.recordSending()
      // Observers may add fields to the attempt.
      let sending = { @Sendable (request: HTTPRequest) in
        onSent?(request)
        return self.send(request)
      }
      return observation.map { $0.attempt(request, sending) } ?? sending(request)
    }
  }
}

/// Middlewares, each of which passes requests on to the next, and the last one to a transport.
private final class MiddlewareChain: Sendable {
  private let middlewares: [any HTTPMiddleware]
  private let exchange: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>

  init(
    _ middlewares: [any HTTPMiddleware], exchange: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) {
    self.middlewares = middlewares
    self.exchange = exchange
  }

  /// Sends a request, which enters here unless it has entered before.
  func send(_ request: consuming HTTPRequest) -> Observable<HTTPResponsePart> {
    let credentials = StackCredentials(middlewares)
    // Not set to what it is, since the request is shared with its sender, and would be copied.
    if credentials.insideCache != nil || request.context.addedInsideCache != nil {
      request.context.addedInsideCache = credentials.insideCache
    }
    request.enter(credentials)
    return send(request, from: 0)
  }

  // The closure for the next one is made where a request gets there: a cache may have the response before.
  private func send(_ request: HTTPRequest, from index: Int) -> Observable<HTTPResponsePart> {
    guard index < middlewares.count else { return exchange(request) }
    return middlewares[index].intercept(request) { [self] in send($0, from: index + 1) }
  }
}

/// Sends a request in another form first, or together with others, before any middleware sees it.
package protocol RequestCarrier: Sendable {
  /// Sends a request; `recorder` has to see all that goes through the middlewares for it, as the innermost of them.
  func send(_ request: HTTPRequest, recorder: any HTTPMiddleware) -> Observable<HTTPResponsePart>
}
