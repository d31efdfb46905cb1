public import Foundation

/// The SHA-256 of a certificate's public key (its SubjectPublicKeyInfo), as in RFC 7469, section 2.4.
///
/// A certificate can be renewed without a change of its pin as long as the key stays. Pin a second key that is kept
/// aside, or a certificate authority's, so that losing one key does not shut clients out. To make one:
///
///     openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
public struct PublicKeyPin: Hashable, Sendable {
  /// The 32 bytes of the hash.
  public let sha256: Data

  /// Takes the hash in base64, with or without `sha256/` before it; throws `invalidRequest` unless it is of 32 bytes.
  public init(_ text: String) throws(RequestError) {
    let base64 = text.hasPrefix("sha256/") ? String(text.dropFirst(7)) : text
    guard let sha256 = Data(base64Encoded: base64), sha256.count == 32 else {
      throw RequestError(.invalidRequest, "'\(text)' is no pin: it takes the 44 characters of a SHA-256 in base64.")
    }
    self.sha256 = sha256
  }

  init(sha256: Data) {
    self.sha256 = sha256
  }
}

extension PublicKeyPin: CustomStringConvertible {
  /// As `sha256/` and the hash in base64.
  public var description: String {
    "sha256/\(sha256.base64EncodedString())"
  }
}
