/// What a client shows to a server that asks who it is: a certificate, and the proof that it holds the key.
public struct ClientIdentity: Hashable, Sendable {
  /// The certificate, followed by the intermediates that lead to its authority.
  public var certificates: PEM

  /// The private key, not encrypted; it may be the same file as the certificates.
  public var privateKey: PEM

  /// Makes an identity.
  public init(certificates: PEM, privateKey: PEM) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}
