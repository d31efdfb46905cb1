/// How `https` connections are made: which servers to trust, and which certificate to show.
///
/// The server's certificate and its host name or address are always verified; no setting turns this off. For a server
/// with a self-signed certificate, trust that certificate or its authority.
///
/// Files are read and checked for the first connection; if they are not valid, it fails with `insecure`. Afterwards
/// they are read again for a new connection if they have changed, which is checked once a second at most: those that
/// ``PEM/file(_:)`` names, and the system's. So certificates and keys can be replaced while the process runs. If what
/// is there then cannot be used, as when a new certificate is there and its key is not yet, connections are made with
/// what was there before, and the next check tries again; ``SocketTransport/Configuration/onCertificateReload`` tells
/// of both. Connections that exist are kept, for ``SocketTransport/Configuration/connectionLifetime`` at most; sessions
/// that were begun with other certificates are not resumed.
///
/// The client's certificate is shown in the handshake only: renegotiation (TLS 1.2) and authentication after the
/// handshake (TLS 1.3, RFC 8446, section 4.6.2) are refused. A server that asks for a certificate only once it knows
/// the path, as IIS and Apache do if it is required for one folder, has to ask for it on a host or port of its own.
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

  /// The paths of the files that it names.
  var files: [String] {
    (trust.authorities + [identity?.certificates, identity?.privateKey].compactMap { $0 }).compactMap(\.file)
  }
}
