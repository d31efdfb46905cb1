import HTTP
import Streams

/// Stands before and behind the middlewares, and remembers the header fields of what is sent: middlewares add tokens,
/// too, and an error must show none of them.
struct SentFields: HTTPMiddleware {
  private let fields: Locked<[HTTPField]>

  /// Takes what else is secret.
  init(secrets: [String]) {
    fields = Locked(secrets.map { HTTPField(received: "secret", value: $0) })
  }

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    fields.withLock { $0 += Array(request.headers) }
    return next(request)
  }

  /// Takes out of a text what any of the requests so far kept secret.
  var redactor: Redactor { Redactor(secretsOf: fields.withLock { $0 }) }
}
