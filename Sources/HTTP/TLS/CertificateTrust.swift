/// Which certificates a server's certificate may be traced back to.
///
/// The system's are where its OpenSSL looks for them; the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name other places.
/// Any certificate given here is trusted: an authority's, an intermediate's, or a server's own.
public struct CertificateTrust: Hashable, Sendable {
  let includesSystem: Bool
  let authorities: [PEM]

  /// Those that the system trusts.
  public static let system = CertificateTrust(includesSystem: true, authorities: [])

  /// Those that the system trusts, and these.
  public static func systemAnd(_ authorities: PEM...) -> CertificateTrust {
    CertificateTrust(includesSystem: true, authorities: authorities)
  }

  /// These and no others.
  public static func only(_ authorities: PEM...) -> CertificateTrust {
    CertificateTrust(includesSystem: false, authorities: authorities)
  }
}
