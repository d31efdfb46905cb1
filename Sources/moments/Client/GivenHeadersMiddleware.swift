import HTTP
import Streams

/// Sets the header fields from the command line on each request, replacing fields of the same names.
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
