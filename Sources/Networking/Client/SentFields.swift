import HTTP
import Streams

/// Stands before and behind the middlewares, and remembers the header fields of what is sent: middlewares add tokens,
/// too, and an error must show none of them.
struct SentFields: HTTPMiddleware {
  /// What else is secret.
  let secrets: [HTTPField]
  private let operationName: String
  private let heads = Locked<[HTTPHeaders]>([])

  /// Takes what a session calls itself, and secret.
  init(of session: some APISession) {
    operationName = session.operationName
    secrets = session.secrets.map { HTTPField(received: "secret", value: $0) }
  }

  /// Remembers the fields of a request.
  func note(_ request: HTTPRequest) {
    heads.withLock { $0.append(request.headers) }
  }

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    note(request)
    return next(request)
  }

  /// The error as the session's, without what any of the requests so far kept secret.
  func described(_ error: any Error) -> RequestError {
    RequestError(wrapping: error).named(operationName).redacted(by: redactor)
  }

  /// The response with its errors, where it has some, as the session's, and without what was kept secret.
  func described<Response>(_ response: Response) -> Response {
    guard let partial = response as? any ResponseWithErrors, !partial.isWhole else { return response }
    return partial.described(as: operationName, by: redactor) as? Response ?? response
  }

  /// Takes out of a text what any of the requests so far kept secret.
  var redactor: Redactor {
    Redactor(secretsOf: secrets + heads.withLock { $0 }.flatMap { Array($0) })
  }
}
