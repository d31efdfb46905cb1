import HTTP

/// A cause of a `RequestError` that may contain text from a response, and in it the request's secrets.
protocol RedactableCause: Error {
  /// The same without the secrets.
  func redacted(by redactor: Redactor) -> Self
}

extension TokenRefreshFailure: RedactableCause {
  func redacted(by redactor: Redactor) -> TokenRefreshFailure { TokenRefreshFailure(error.redacted(by: redactor)) }
}

extension RequestError {
  /// The error without the request's secrets. Causes of other modules' types are left as they are.
  func redacted(by redactor: Redactor) -> RequestError {
    var error = self
    error.message = redactor.redact(message)
    error.excerpt = excerpt.map(redactor.redact)
    error.cause = (cause as? any RedactableCause)?.redacted(by: redactor) ?? cause
    return error
  }
}
