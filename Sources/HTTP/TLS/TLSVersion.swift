/// A version of TLS that is still secure.
public enum TLSVersion: Hashable, Sendable {
  /// RFC 5246.
  case tls12

  /// RFC 8446.
  case tls13
}
