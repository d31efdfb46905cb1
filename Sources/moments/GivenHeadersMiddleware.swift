import HTTP
import Streams

/// Puts the header fields of the command line into each request, in the place of those with the same names.
struct GivenHeadersMiddleware: HTTPMiddleware {
  let fields: [HTTPField]

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    var request = request
    for field in fields { request.headers.remove(field.name) }
    request.headers = HTTPHeaders(Array(request.headers) + fields)
    return next(request)
  }
}
