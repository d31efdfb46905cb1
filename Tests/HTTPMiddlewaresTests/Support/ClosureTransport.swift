import HTTPClientCore
import Streams

/// A transport whose responses a closure gives.
struct ClosureTransport: HTTPTransport {
  let respond: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> { respond(request) }
}
