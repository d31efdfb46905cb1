/// How `https` connections are made: which servers to trust, and which certificate to show.
///
/// The server's certificate and its host name or address are always verified; no setting turns this off. For a server
/// with a self-signed certificate, trust that certificate or its authority.
///
/// Files are read and checked for the first connection, and then kept; if they are not valid, it fails with `insecure`.
/// When certificates are replaced, make a new transport.
public struct TLSConfiguration: Hashable, Sendable {
  /// The certificates to trust; by default those that the system trusts.
  public var trust: CertificateTrust

  /// The certificate to show to a server that asks for one; none by default.
  public var identity: ClientIdentity?

  /// If not empty, a key in the verified chain must be one of these; the chain must be trusted in any case.
  public var pins: Set<PublicKeyPin>

  /// The oldest version to accept; TLS 1.2 by default.
  public var minimumVersion: TLSVersion

  /// Makes a configuration; what is not given keeps its default.
  public init(
    trust: CertificateTrust = .system, identity: ClientIdentity? = nil, pins: Set<PublicKeyPin> = [],
    minimumVersion: TLSVersion = .tls12
  ) {
    self.trust = trust
    self.identity = identity
    self.pins = pins
    self.minimumVersion = minimumVersion
  }
}
