// A middleware that is written with `async`, that assigns to a header, or that sets one without handling the error.
// message: candidate is 'async', but protocol requirement is not
// message: a value may not be valid: write try headers.set(name, to: value)
// message: call can throw, but it is not marked with 'try' and the error is not handled

import HTTPClientCore
import Streams

typealias Response = Observable<HTTPResponsePart>

struct Tenant: HTTPMiddleware {
  let name: String

  #if CORRECT
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      .deferred {
        var request = request
        try request.headers.set("X-Tenant", to: name)
        return next(request)
      }
    }
  #else
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
      try await next(request)
    }

    func assign(_ request: HTTPRequest, next: (HTTPRequest) -> Response) -> Response {
      var request = request
      request.headers["X-Tenant"] = name
      return next(request)
    }

    func set(_ request: HTTPRequest, next: (HTTPRequest) -> Response) -> Response {
      var request = request
      request.headers.set("X-Tenant", to: name)
      return next(request)
    }
  #endif
}
