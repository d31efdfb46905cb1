import HTTP

/// A response that holds errors of the server beside what it answers.
protocol ResponseWithErrors {
  /// Whether there are no errors.
  var isWhole: Bool { get }
  /// The same with its errors as an operation's, and nothing in them of what the request kept secret.
  func described(as operationName: String, by redactor: Redactor) -> Self
}

extension GraphQLResponse: ResponseWithErrors {
  var isWhole: Bool { errors.isEmpty }

  func described(as operationName: String, by redactor: Redactor) -> GraphQLResponse {
    let errors = GraphQLErrors(errors).redacted(by: redactor).errors
    return GraphQLResponse(data: data, errors: errors, extensions: extensions, operationName: operationName)
  }
}
