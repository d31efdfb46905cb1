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
    guard !middlewares.isEmpty else { return exchange(request, isSubscribed: false) }
    return send(request, through: MiddlewareStack(middlewares))
  }

  /// Sends a request through a stack of middlewares, and then through those that follow this request alone.
  package func send(
    _ request: HTTPRequest, through stack: MiddlewareStack, and innermost: [any HTTPMiddleware] = []
  ) -> Observable<HTTPResponsePart> {
    let chain = MiddlewareChain(stack, innermost) { exchange($0, isSubscribed: $1) }
    if request.context.entry != nil { return chain.send(request) }
    return .deferred { chain.send(request) }
  }

  /// Hands the request to the transport, and reports it to those who follow it, once somebody has subscribed.
  private func exchange(_ request: HTTPRequest, isSubscribed: Bool) -> Observable<HTTPResponsePart> {
    let context = request.context
    guard context.entry != nil || context.onSent != nil else {
      return context.observation.map { $0.attempt(request) { self.send($0) } } ?? send(request)
    }
    return isSubscribed ? reported(request) : .deferred { reported(request) }
  }

  private func reported(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    request.context.entry?.recordSending()
    let onSent = request.context.onSent
    guard let observation = request.context.observation else {
      onSent?(request)
      return send(request)
    }
    // Observers may add fields to the attempt.
    return observation.attempt(request) { request in
      onSent?(request)
      return self.send(request)
    }
  }
}

/// Middlewares, the first of them outermost, as requests pass through them. A stack equals only itself.
package final class MiddlewareStack: Sendable {
  fileprivate enum Link {
    case middleware(any HTTPMiddleware)
    /// Those that stand next to each other.
    case deciding([any DecidingMiddleware])
  }

  package let middlewares: [any HTTPMiddleware]
  fileprivate let links: [Link]
  fileprivate let hasCache: Bool
  /// Whether the first middleware asks the request's gate if anything was sent. Another one outside of it could send the
  /// request past a gate that is closed.
  package let asksGateFirst: Bool

  package init(_ middlewares: [any HTTPMiddleware]) {
    self.middlewares = middlewares
    var links: [Link] = []
    for middleware in middlewares {
      guard let last = middleware as? any DecidingMiddleware else {
        links.append(.middleware(middleware))
        continue
      }
      if case .deciding(let others) = links.last {
        links[links.count - 1] = .deciding(others + [last])
      } else {
        links.append(.deciding([last]))
      }
    }
    self.links = links
    hasCache = middlewares.contains { $0.addedCredentials == .cache }
    asksGateFirst = (middlewares.first as? any DecidingMiddleware)?.asksGate ?? false
  }
}

extension MiddlewareStack: Hashable {
  package static func == (left: MiddlewareStack, right: MiddlewareStack) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The way of one request through middlewares, each of which passes it on to the next, and the last one to a transport.
private final class MiddlewareChain: Sendable {
  private let stack: MiddlewareStack
  private let innermost: [any HTTPMiddleware]
  private let exchange: @Sendable (HTTPRequest, _ isSubscribed: Bool) -> Observable<HTTPResponsePart>

  init(
    _ stack: MiddlewareStack, _ innermost: [any HTTPMiddleware],
    exchange: @escaping @Sendable (HTTPRequest, _ isSubscribed: Bool) -> Observable<HTTPResponsePart>
  ) {
    self.stack = stack
    self.innermost = innermost
    self.exchange = exchange
  }

  /// Sends a request, which enters here unless it has entered before.
  func send(_ request: consuming HTTPRequest) -> Observable<HTTPResponsePart> {
    if request.context.entry == nil || stack.hasCache {
      let credentials = StackCredentials(stack.middlewares + innermost)
      request.context.addedInsideCache = credentials.insideCache
      request.enter(credentials)
    } else if request.context.addedInsideCache != nil {
      request.context.addedInsideCache = nil
    }
    return send(request, from: 0)
  }

  // What is inside is made where a request gets there: a cache may have the response before.
  private func send(
    _ request: HTTPRequest, from index: Int, isSubscribed: Bool = false
  ) -> Observable<HTTPResponsePart> {
    guard index < stack.links.count else {
      return send(request, innermost: index - stack.links.count, isSubscribed: isSubscribed)
    }
    switch stack.links[index] {
    case .middleware(let middleware):
      return middleware.intercept(request) { [self] in send($0, from: index + 1) }
    case .deciding(let middlewares):
      return .handled { [self] in
        MiddlewareRun(middlewares, request) { [self] in send($0, from: index + 1, isSubscribed: true) }
      }
    }
  }

  private func send(
    _ request: HTTPRequest, innermost index: Int, isSubscribed: Bool
  ) -> Observable<HTTPResponsePart> {
    guard index < innermost.count else { return exchange(request, isSubscribed) }
    return innermost[index].intercept(request) { [self] in
      send($0, innermost: index + 1, isSubscribed: isSubscribed)
    }
  }
}

/// Sends a request in another form first, or together with others, before any middleware sees it.
package protocol RequestCarrier: Sendable {
  /// Sends a request; `recorder` has to see all that goes through the middlewares for it, as the innermost of them.
  func send(_ request: HTTPRequest, recorder: any HTTPMiddleware) -> Observable<HTTPResponsePart>
}
