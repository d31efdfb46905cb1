public import Foundation

/// The SHA-256 of a certificate's public key (its SubjectPublicKeyInfo), as in RFC 7469, section 2.4.
///
/// A certificate can be renewed without changing its pin as long as the key stays the same. Also pin a backup key, or
/// the key of a certificate authority, so that losing one key does not lock clients out. To make a pin:
///
///     openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
public struct PublicKeyPin: Hashable, Sendable {
  /// The 32 bytes of the hash.
  public let sha256: Data

  /// Takes the hash in base64, with or without the prefix `sha256/`; throws `invalidRequest` unless it has 32 bytes.
  public init(_ text: String) throws(RequestError) {
    let base64 = text.hasPrefix("sha256/") ? String(text.dropFirst(7)) : text
    guard let sha256 = Data(base64Encoded: base64), sha256.count == 32 else {
      throw RequestError(.invalidRequest, "'\(text)' is not a pin: use the 44 characters of a SHA-256 hash in base64.")
    }
    self.sha256 = sha256
  }

  init(sha256: Data) {
    self.sha256 = sha256
  }
}

extension PublicKeyPin: CustomStringConvertible {
  /// `sha256/` followed by the hash in base64.
  public var description: String {
    "sha256/\(sha256.base64EncodedString())"
  }
}
