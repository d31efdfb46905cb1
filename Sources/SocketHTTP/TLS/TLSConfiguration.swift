public import HTTPClientCore
public import SystemBase

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

  /// Reads the files that it names, and checks that they can be used: to find mistakes before the first connection. It
  /// may block. Throws `insecure` with the file and what is wrong with it.
  public func check() throws(RequestError) { try TLSContext(self).prepare() }

  /// The paths of the files that it names.
  var files: [String] {
    (trust.authorities + [identity?.certificates, identity?.privateKey].compactMap { $0 }).compactMap(\.file)
  }
}

/// What is spoken on a connection, by the name under which TLS offers it.
package enum ApplicationProtocol: String, Sendable {
  case http1 = "http/1.1"
  case http2 = "h2"
}

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

/// A version of TLS that is still secure.
public enum TLSVersion: Hashable, Sendable {
  /// RFC 5246.
  case tls12

  /// RFC 8446.
  case tls13
}

/// Certificates or a key as PEM text (RFC 7468), in a file or in memory.
///
/// Its description does not show the contents, which may be a private key.
public struct PEM: Hashable, Sendable {
  private enum Source: Hashable {
    case file(String)
    case bytes(Data, path: String?)
  }

  private let source: Source

  /// A file of at most 4 MiB, read when the first connection is made, and again when it has changed; a relative path is
  /// relative to the working directory.
  public static func file(_ path: String) -> PEM {
    PEM(source: .file(path))
  }

  /// The text itself.
  public static func bytes(_ bytes: Data) -> PEM {
    PEM(source: .bytes(bytes, path: nil))
  }

  /// The text of a file, read now, because a pipe can be read only once. Throws `insecure` if it cannot be read.
  public static func reading(_ path: String) throws(RequestError) -> PEM {
    PEM(source: .bytes(try file(path).read(), path: path))
  }

  /// The path of a file that is read when it is needed.
  var file: String? {
    if case .file(let path) = source { path } else { nil }
  }

  /// Many times the size of all authorities of a system.
  private static let largestFile = 4 << 20

  /// The bytes; throws `insecure` if a file cannot be read or is larger than 4 MiB.
  func read() throws(RequestError) -> Data {
    switch source {
    case .bytes(let bytes, _): return bytes
    case .file(let path):
      let contents: [UInt8]
      do throws(SystemError) {
        // Not Data(contentsOf:), which refuses pipes.
        contents = try FileDescriptor.contents(of: path, upTo: Self.largestFile)
      } catch {
        throw RequestError(.insecure, "Cannot read the PEM file '\(path)': \(error).", cause: error)
      }
      guard contents.count <= Self.largestFile else {
        throw RequestError(.insecure, "The PEM file '\(path)' is larger than \(Self.largestFile) bytes.")
      }
      return Data(contents)
    }
  }
}

extension PEM: CustomStringConvertible, CustomReflectable {
  /// The path of the file, or the number of bytes.
  public var description: String {
    switch source {
    case .file(let path), .bytes(_, let path?): "the file '\(path)'"
    case .bytes(let bytes, nil): "\(bytes.count) bytes of PEM"
    }
  }

  /// Only the description, so that no dump shows a key.
  public var customMirror: Mirror {
    Mirror(self, children: ["source": description])
  }
}
