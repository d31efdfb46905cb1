/// How `https` connections are made: which servers to trust, and which certificate to show.
///
/// The server's certificate and its host name or address are always verified; there is no setting against it. For a
/// server with a certificate of its own, trust that certificate or its authority.
///
/// Files are read and checked with the first connection; what is wrong with them fails it with `insecure`.
public struct TLSConfiguration: Hashable, Sendable {
  /// Whose certificates are accepted: those the system trusts, unless set.
  public var trust: CertificateTrust

  /// What to show to a server that asks for a certificate: nothing, unless set.
  public var identity: ClientIdentity?

  /// Where not empty, a key of the verified chain must be one of these; trust is asked for all the same.
  public var pins: Set<PublicKeyPin>

  /// The oldest protocol to speak: TLS 1.2 unless set.
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
