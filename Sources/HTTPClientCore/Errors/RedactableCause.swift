/// A cause of a `RequestError` that may contain text from a peer, and in it what was sent.
package protocol RedactableCause: Error {
  /// The cause without the secrets.
  func redacted(by redactor: Redactor) -> Self
}

extension RequestError {
  /// The error without the secrets of what was sent. Causes of other modules' types are left as they are.
  package func redacted(by redactor: Redactor) -> RequestError {
    var error = self
    error.message = redactor.redact(message)
    error.excerpt = excerpt.map(redactor.redact)
    error.cause = (cause as? any RedactableCause)?.redacted(by: redactor) ?? cause
    return error
  }
}

extension TokenRefreshFailure: RedactableCause {
  package func redacted(by redactor: Redactor) -> TokenRefreshFailure {
    TokenRefreshFailure(error.redacted(by: redactor))
  }
}

extension WebSocketFailure: RedactableCause {
  package func redacted(by redactor: Redactor) -> WebSocketFailure {
    switch self {
    case .refused(let head): .refused(head.redacted(by: redactor))
    case .badHandshake(let head): .badHandshake(head.redacted(by: redactor))
    case .wrongSubprotocol(let selected): .wrongSubprotocol(selected: selected.map(redactor.redact))
    case .violation: self
    }
  }
}

extension HTTPResponseHead {
  /// The head with fields that do not repeat what was sent.
  fileprivate func redacted(by redactor: Redactor) -> HTTPResponseHead {
    HTTPResponseHead(
      status: status,
      headers: HTTPHeaders(headers.map { HTTPField(received: $0.name, value: redactor.redact($0.value)) }))
  }
}
