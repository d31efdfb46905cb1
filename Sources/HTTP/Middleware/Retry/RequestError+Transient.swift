extension RequestError {
  /// Whether the same request may well succeed a moment later: there was no connection, the connection was lost, a
  /// deadline passed, or the status was 408, 429, 500, 502, 503 or 504. Failures of TLS, decoding failures,
  /// cancellation and other statuses are not transient.
  public var isTransient: Bool {
    switch kind {
    case .cannotConnect, .connectionLost, .timedOut: true
    case .httpStatus: Self.transientStatuses.contains(status ?? 0)
    default: false
    }
  }

  static let transientStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
}
