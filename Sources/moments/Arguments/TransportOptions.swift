import Foundation
import HTTP
import SocketHTTP
import URLSessionHTTP

/// How the command connects to a server: the transport, and its TLS settings.
struct TransportOptions: Equatable, Sendable {
  /// The transports.
  enum Kind: String {
    case socket, urlsession
  }

  var kind: Kind?

  /// A file of certificates to trust in addition to the system's.
  var authority: String?

  /// The files with the command's own certificate and its key.
  var certificate: String?
  var key: String?

  /// The contents of the files when they were checked: a pipe can be read only once.
  private(set) var tls = TLSConfiguration()

  /// Reads the files; throws if the options do not go together, or a file does not contain what it should.
  mutating func check() throws(UsageError) {
    guard (certificate == nil) == (key == nil) else {
      throw UsageError("--cert and --key go together; give both, or the same file twice")
    }
    let authority = try pem("--ca", authority)
    let certificates = try pem("--cert", certificate)
    let privateKey = key == certificate ? certificates : try pem("--key", key)
    guard authority != nil || certificates != nil else { return }
    if let certificates, let privateKey {
      tls.identity = ClientIdentity(certificates: certificates, privateKey: privateKey)
    }
    do throws(RequestError) {
      // Loading the system's certificates as well would take time, and is not needed to check these files.
      let trust = authority.map { CertificateTrust.only($0) } ?? .only()
      try TLSConfiguration(trust: trust, identity: tls.identity).check()
    } catch {
      throw UsageError(error.message)
    }
    if let authority { tls.trust = .systemAnd(authority) }
  }

  private func pem(_ option: String, _ file: String?) throws(UsageError) -> PEM? {
    guard let file else { return nil }
    guard kind != .urlsession else {
      throw UsageError("\(option) does not go with --transport urlsession; use --transport socket")
    }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), !isFolder.boolValue,
      let pem = try? PEM.reading(file)
    else {
      throw UsageError("\(option): '\(file)' is not a readable file")
    }
    return pem
  }

  /// The configured transport.
  func transport() -> any HTTPTransport {
    guard kind != .urlsession else { return URLSessionTransport() }
    var configuration = SocketTransport.Configuration()
    configuration.tls = tls
    return SocketTransport(configuration: configuration)
  }
}
