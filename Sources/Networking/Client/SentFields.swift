import HTTP
import Streams

/// Records the header fields of requests before and after the middlewares, which may add tokens: no error may show any
/// of these.
struct SentFields: HTTPMiddleware {
  /// The session's other secrets.
  let secrets: [HTTPField]
  private let session: any APISession
  private let heads = Locked<[HTTPHeaders]>([])

  init(of session: some APISession) {
    self.session = session
    secrets = session.secrets.map { HTTPField(received: "secret", value: $0) }
  }

  /// Records a request's fields.
  func record(_ request: HTTPRequest) {
    heads.withLock { $0.append(request.headers) }
  }

  /// Records the fields that an attempt to subscribe adds; those of the last attempts are enough.
  func record(_ fields: [HTTPField]) {
    heads.withLock { heads in
      if heads.count > 8 { heads.remove(at: 1) }
      heads.append(HTTPHeaders(fields))
    }
  }

  var addedCredentials: AddedCredentials { .none }

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    record(request)
    return next(request)
  }

  /// The error under the session's name, without the secrets of any request so far.
  func described(_ error: any Error) -> RequestError {
    RequestError(wrapping: error).named(session.operationName).redacted(by: redactor)
  }

  /// The response; any errors in it are put under the session's name, and stripped of secrets.
  func described<Response>(_ response: Response) -> Response {
    guard let partial = response as? any ResponseWithErrors, !partial.isWhole else { return response }
    return partial.described(as: session.operationName, by: redactor) as? Response ?? response
  }

  /// Removes the secrets of all requests so far from a text.
  var redactor: Redactor {
    Redactor(secretsOf: secrets + heads.withLock { $0 }.flatMap { Array($0) })
  }
}

/// A response that may contain errors beside its data.
protocol ResponseWithErrors {
  /// Whether there are no errors.
  var isWhole: Bool { get }
  /// The same with its errors under an operation's name, and without the request's secrets.
  func described(as operationName: String, by redactor: Redactor) -> Self
}

extension GraphQLResponse: ResponseWithErrors {
  var isWhole: Bool { errors.isEmpty }

  func described(as operationName: String, by redactor: Redactor) -> GraphQLResponse {
    let errors = GraphQLErrors(errors).redacted(by: redactor).errors
    return GraphQLResponse(data: data, errors: errors, extensions: extensions, operationName: operationName)
  }
}
