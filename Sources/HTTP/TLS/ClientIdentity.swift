/// A client's certificate and private key, for servers that ask for a client certificate.
public struct ClientIdentity: Hashable, Sendable {
  /// The certificate, followed by the intermediate certificates up to its authority.
  public var certificates: PEM

  /// The private key, not encrypted; it may be the same file as the certificates.
  public var privateKey: PEM

  /// Makes an identity.
  public init(certificates: PEM, privateKey: PEM) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}
