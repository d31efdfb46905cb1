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
  /// the cache asks the server each time. It is read when a client gets the middleware, and for each request if there is a
  /// cache among the middlewares; it must not block.
  var addedCredentials: AddedCredentials { get }
}

/// A middleware that sends nothing but by what it is given as `next`, see ``SendGate``.
package protocol SendingByNext: HTTPMiddleware {}

extension HTTPTransport {
  /// Sends a request through middlewares, the first of them outermost.
  ///
  /// The request is for the account that an `AuthMiddleware` among them has a token of when the stream is subscribed
  /// to, or, where it has passed others before, when this is called: wherever it waits, and however often it is sent, it
  /// goes out for no other account.
  public func send(_ request: HTTPRequest, through middlewares: [any HTTPMiddleware]) -> Observable<HTTPResponsePart> {
    guard !middlewares.isEmpty else { return exchange(request, isSubscribed: false) }
    return MiddlewareStack(middlewares).send(request, by: self)
  }

  /// Hands the request to the transport, and reports it to those who follow it, once somebody has subscribed.
  fileprivate func exchange(_ request: HTTPRequest, isSubscribed: Bool) -> Observable<HTTPResponsePart> {
    guard request.context.entry != nil || request.context.onSent != nil else {
      return request.context.observation.map { $0.attempt(request) { self.send($0) } } ?? send(request)
    }
    return isSubscribed ? reported(request) : .deferred { reported(request) }
  }

  private func reported(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    // The cast is a look-up: only for a request that has a gate.
    if request.context.sendGate != nil {
      do { try request.recordHandover(isTracked: self is any SendTracking) } catch { return .error(error) }
    }
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
    case middleware(any HTTPMiddleware, sendsByNext: Bool)
    /// Those that stand next to each other.
    case deciding([any RequestDecider])

    var deciders: [any RequestDecider] {
      if case .deciding(let deciders) = self { deciders } else { [] }
    }
  }

  private let middlewares: [any HTTPMiddleware]
  fileprivate let links: [Link]
  /// What the middlewares add to requests.
  package let credentials: StackCredentials
  /// Whether the first middleware asks the request's gate if anything was sent. Another one outside of it could send the
  /// request past a gate that is closed.
  package let asksGateFirst: Bool

  package init(_ middlewares: [any HTTPMiddleware]) {
    self.middlewares = middlewares
    var links: [Link] = []
    for middleware in middlewares {
      guard let last = middleware as? any DecidingMiddleware else {
        links.append(.middleware(middleware, sendsByNext: middleware is any SendingByNext))
        continue
      }
      if case .deciding(let others) = links.last {
        links[links.count - 1] = .deciding(others + [last.decider])
      } else {
        links.append(.deciding([last.decider]))
      }
    }
    self.links = links
    credentials = StackCredentials(middlewares)
    asksGateFirst = (middlewares.first as? any DecidingMiddleware)?.asksGate ?? false
  }
}

extension MiddlewareStack: Hashable {
  package static func == (left: MiddlewareStack, right: MiddlewareStack) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension MiddlewareStack {
  /// Sends a request through these middlewares, then through those that follow this request alone and add nothing that tells
  /// whose it is, to a transport. What it gets is recorded, if somebody asks for the secrets in it.
  package func send(
    _ request: HTTPRequest, and innermost: [any HTTPMiddleware] = [], by transport: any HTTPTransport,
    recorder: SentSecrets? = nil
  ) -> Observable<HTTPResponsePart> {
    if request.context.entry != nil { return way(of: request, innermost, transport, recorder).send() }
    return .deferred { [self] in way(of: request, innermost, transport, recorder).send() }
  }

  private func way(
    of request: HTTPRequest, _ innermost: [any HTTPMiddleware], _ transport: any HTTPTransport, _ recorder: SentSecrets?
  ) -> MiddlewareWay {
    MiddlewareWay(entered(request, innermost), through: self, and: innermost, to: transport, recorder)
  }

  /// The request, which enters here unless it has entered before.
  private func entered(_ request: consuming HTTPRequest, _ innermost: [any HTTPMiddleware]) -> HTTPRequest {
    if credentials.insideCache != nil {
      // They may have changed since, as a tenant does.
      request.context.addedInsideCache = StackCredentials(middlewares + innermost).insideCache
    } else if request.context.addedInsideCache != nil {
      request.context.addedInsideCache = nil
    }
    request.enter(credentials)
    return request
  }
}

/// The way of a request through middlewares from a link on: each passes it on to the next, and the last one to a transport.
private final class MiddlewareWay: HandlerMaker {
  private let request: HTTPRequest
  private let stack: MiddlewareStack
  private let index: Int
  private let innermost: [any HTTPMiddleware]
  private let transport: any HTTPTransport
  private let recorder: SentSecrets?

  init(
    _ request: HTTPRequest, through stack: MiddlewareStack, from index: Int = 0, and innermost: [any HTTPMiddleware],
    to transport: any HTTPTransport, _ recorder: SentSecrets?
  ) {
    self.request = request
    self.stack = stack
    self.index = index
    self.innermost = innermost
    self.transport = transport
    self.recorder = recorder
  }

  func send() -> Observable<HTTPResponsePart> {
    guard index < stack.links.count else { return send(request, innermost: 0) }
    switch stack.links[index] {
    case .middleware(let middleware, let sendsByNext):
      if !sendsByNext {
        do { try request.recordHandover() } catch { return .error(error) }
      }
      return middleware.intercept(request) { [self] in sendOn($0) }
    case .deciding: return .handled(by: self)
    }
  }

  func makeHandler() -> MiddlewareRun {
    let deciders = stack.links[index].deciders
    // In a run, somebody has subscribed.
    return if index + 1 < stack.links.count {
      MiddlewareRun(deciders, request) { [self] in sendOn($0) }
    } else if innermost.isEmpty {
      MiddlewareRun(deciders, request) { [self] in exchange($0, isSubscribed: true) }
    } else {
      MiddlewareRun(deciders, request) { [self] in send($0, innermost: 0, isSubscribed: true) }
    }
  }

  /// Sends what a link has passed on. What is inside is made where a request gets there: a cache may have the response
  /// before.
  private func sendOn(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    MiddlewareWay(continuing(request), through: stack, from: index + 1, and: innermost, to: transport, recorder).send()
  }

  /// What a middleware passes on. A request that it has made itself is for the account of the one in whose place it goes
  /// out, and is secret, counted and followed like that one.
  private func continuing(_ request: consuming HTTPRequest) -> HTTPRequest {
    if request.context.entry == nil { request.context = self.request.context }
    return request
  }

  private func send(
    _ request: HTTPRequest, innermost index: Int, isSubscribed: Bool = false
  ) -> Observable<HTTPResponsePart> {
    guard index < innermost.count else { return exchange(request, isSubscribed: isSubscribed) }
    return innermost[index].intercept(request) { [self] in
      send(continuing($0), innermost: index + 1, isSubscribed: isSubscribed)
    }
  }

  private func exchange(_ request: HTTPRequest, isSubscribed: Bool) -> Observable<HTTPResponsePart> {
    recorder?.add(request)
    return transport.exchange(request, isSubscribed: isSubscribed)
  }
}

/// Sends a request in another form first, or together with others, before any middleware sees it.
package protocol RequestCarrier: Sendable {
  /// Sends a request; what goes to the transport for it has to be recorded.
  func send(_ request: HTTPRequest, recorder: SentSecrets) -> Observable<HTTPResponsePart>
}
