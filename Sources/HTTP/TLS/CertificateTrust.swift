/// The certificates that are trusted to vouch for a server's certificate.
///
/// The system's certificates are where its OpenSSL looks for them; the environment variables `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` can name other places. Any certificate given here is trusted: an authority's, an intermediate's, or a
/// server's own.
public struct CertificateTrust: Hashable, Sendable {
  let includesSystem: Bool
  let authorities: [PEM]

  /// The certificates that the system trusts.
  public static let system = CertificateTrust(includesSystem: true, authorities: [])

  /// The certificates that the system trusts, and these.
  public static func systemAnd(_ authorities: PEM...) -> CertificateTrust { systemAnd(authorities) }

  /// The certificates that the system trusts, and these.
  public static func systemAnd(_ authorities: [PEM]) -> CertificateTrust {
    CertificateTrust(includesSystem: true, authorities: authorities)
  }

  /// Only these certificates.
  public static func only(_ authorities: PEM...) -> CertificateTrust { only(authorities) }

  /// Only these certificates.
  public static func only(_ authorities: [PEM]) -> CertificateTrust {
    CertificateTrust(includesSystem: false, authorities: authorities)
  }
}
