public import Streams

/// Stands between a client and its transport: sees each request on its way out, and the parts of its response.
///
/// Write a middleware to act on messages, whatever moves them: headers, logs, retries. To act on a session's decoded
/// response, write a `SessionInterceptor` of the module Networking.
public protocol HTTPMiddleware: Sendable {
  /// Returns the response to a request by calling `next` once, several times or not at all, with this request or
  /// another one, such as the same request to another server (``HTTPRequest/to(_:method:)``).
  ///
  /// Must not block. The stream that it returns follows the rules of ``HTTPTransport/send(_:)``.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart>
}

extension HTTPTransport {
  /// Sends a request through middlewares, the first of them outermost.
  public func send(_ request: HTTPRequest, through middlewares: [any HTTPMiddleware]) -> Observable<HTTPResponsePart> {
    guard !middlewares.isEmpty else { return sendObserved(request) }
    var chain: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart> = { self.sendObserved($0) }
    for middleware in middlewares.reversed() {
      chain = { [next = chain] request in middleware.intercept(request, next: next) }
    }
    return chain(request)
  }

  private func sendObserved(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    guard let observation = request.context.observation else { return send(request) }
    return observation.attempt(request) { self.send($0) }
  }
}

/// Sends a request in another form first, or together with others, before any middleware sees it.
package protocol RequestCarrier: Sendable {
  /// Sends a request; `recorder` has to see all that goes through the middlewares for it, as the innermost of them.
  func send(_ request: HTTPRequest, recorder: any HTTPMiddleware) -> Observable<HTTPResponsePart>
}
