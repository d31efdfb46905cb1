import HTTP

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
