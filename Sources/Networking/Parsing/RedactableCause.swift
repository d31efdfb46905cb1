import HTTP

/// A cause of a `RequestError` that may hold text from an answer, and with it what the request kept secret.
protocol RedactableCause: Error {
  /// The same without the secrets.
  func redacted(by redactor: Redactor) -> Self
}

extension RequestError {
  /// The error with nothing in it of what the request kept secret. Causes of types that are not this module's stay as
  /// they are.
  func redacted(by redactor: Redactor) -> RequestError {
    var error = self
    error.message = redactor.redact(message)
    error.excerpt = excerpt.map(redactor.redact)
    error.cause = (cause as? any RedactableCause)?.redacted(by: redactor) ?? cause
    return error
  }
}
