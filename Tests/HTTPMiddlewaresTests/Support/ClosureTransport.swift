import HTTPClientCore
import Streams

/// A transport whose responses a closure gives.
struct ClosureTransport: HTTPTransport {
  let respond: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { respond(request) }
}

/// One that tracks what it sends: it has sent a request once the closure has opened its gate.
struct TrackingTransport: HTTPTransport, SendTracking {
  let respond: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { respond(request) }
}
