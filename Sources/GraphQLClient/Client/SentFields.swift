import HTTPClientCore
import Streams

/// Records what goes out for a session, before the middlewares and after them: no error of the session may show any
/// secret in it.
struct SentFields: Sendable {
  /// The session's other secrets.
  let secrets: [HTTPField]
  /// What follows the request.
  let sent: SentSecrets
  private let operationName: String

  init(of session: some APISession) {
    operationName = session.operationName
    secrets = session.secrets.map { HTTPField(received: "secret", value: $0) }
    sent = SentSecrets(declared: secrets)
  }

  /// Records a request, which carries the record from then on.
  func record(_ request: inout HTTPRequest) {
    request.context.secrets = secrets
    request.context.sent = sent
    sent.add(request)
  }

  /// The error under the session's name, without the secrets of any request so far.
  func described(_ error: any Error) -> RequestError {
    RequestError(wrapping: error).named(operationName).redacted(by: redactor)
  }

  /// The response; any errors in it are put under the session's name, and stripped of secrets.
  func described<Response>(_ response: Response) -> Response {
    guard let partial = response as? any ResponseWithErrors, !partial.isWhole else { return response }
    return partial.described(as: operationName, by: redactor) as? Response ?? response
  }

  /// Removes the secrets of all requests so far from a text.
  var redactor: Redactor { sent.redactor }
}

/// A response that may contain errors beside its data.
protocol ResponseWithErrors {
  /// Whether there are no errors.
  var isWhole: Bool { get }
  /// The response with its errors under an operation's name, and without the request's secrets.
  func described(as operationName: String, by redactor: Redactor) -> Self
}

extension GraphQLResponse: ResponseWithErrors {
  var isWhole: Bool { errors.isEmpty }

  func described(as operationName: String, by redactor: Redactor) -> GraphQLResponse {
    let errors = GraphQLErrors(errors).redacted(by: redactor).errors
    return GraphQLResponse(data: data, errors: errors, extensions: extensions, operationName: operationName)
  }
}
