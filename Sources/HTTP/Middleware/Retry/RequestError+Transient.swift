extension RequestError {
  /// Whether the same request may well succeed a moment later: there was no connection, the connection was lost, a
  /// deadline passed, or the status, of the server or of a proxy that was asked for a tunnel, is 408, 425 (RFC 8470,
  /// section 5.2), 429, or from 500 on, except for 501, 505 to 508, 510 and 511. Failures of TLS, decoding failures,
  /// cancellation and other statuses are not transient.
  public var isTransient: Bool {
    switch kind {
    case .connectionLost, .timedOut: true
    case .cannotConnect: status.map(Self.isTransient) ?? true
    case .httpStatus: status.map(Self.isTransient) ?? false
    default: false
    }
  }

  /// A status that is not known counts as 500 (RFC 9110, section 15).
  static func isTransient(status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505...508, 510, 511: false
    default: status >= 500
    }
  }
}
