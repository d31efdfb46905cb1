extension RequestError {
  /// Whether the same request may well succeed a moment later: no connection, a lost one, a deadline, or one of the
  /// statuses 408, 429, 500, 502, 503 and 504. Nothing about TLS, decoding, cancellation and other statuses is.
  public var isTransient: Bool {
    switch kind {
    case .cannotConnect, .connectionLost, .timedOut: true
    case .httpStatus: Self.transientStatuses.contains(status ?? 0)
    default: false
    }
  }

  static let transientStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
}
