extension RequestError {
  /// Whether it is certain that no byte of the request has reached the server, so that even a payment can be sent
  /// again: there was no connection, the request was held back on this side, or a deadline passed or the connection
  /// ended before it was sent.
  ///
  /// `false` means that nothing is known. Of a request that is ``HTTPRequest/isReplayable``, it tells of the last
  /// attempt: an earlier one may have reached the server, so send it again only under the same idempotency key.
  public var isCertainlyUnsent: Bool {
    if isAfterRedirect { return false }
    return switch kind {
    case .cannotConnect, .circuitOpen, .overloaded, .forkedProcess: true
    default: cause is NothingWasSent
    }
  }
}
