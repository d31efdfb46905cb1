public import HTTPClientCore
public import Streams

/// Adds default header fields to each request; a field is not added if the request already has one with its name.
///
/// A ``CacheMiddleware`` outside of it keeps responses to requests with other values of these fields apart.
public struct DefaultHeadersMiddleware: HTTPMiddleware, SendingByNext {
  let headers: HTTPHeaders

  /// Takes the fields to add.
  public init(_ headers: HTTPHeaders) {
    self.headers = headers
  }

  /// Passes the request on with the missing fields added.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    var request = request
    request.headers = request.headers.adding(defaults: headers)
    return next(request)
  }
}
