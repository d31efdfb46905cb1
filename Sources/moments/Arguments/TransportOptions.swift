import Foundation
import HTTP

/// How the command reaches a server: over which transport, and whom it trusts.
struct TransportOptions: Equatable, Sendable {
  /// What moves the bytes.
  enum Kind: String {
    case socket, urlsession
  }

  var kind: Kind?

  /// A file of certificates to trust beside the system's.
  var authority: String?

  /// The files with the command's own certificate and its key.
  var certificate: String?
  var key: String?

  /// What the files held when they were checked: one that is a pipe can be read once.
  private(set) var tls = TLSConfiguration()

  /// Reads the files; throws unless the options go together and their files hold what they should.
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
      // The system's own certificates would take time, and say nothing of these files.
      let trust = authority.map { CertificateTrust.only($0) } ?? .only()
      try TLSContext(TLSConfiguration(trust: trust, identity: tls.identity)).prepare()
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
      throw UsageError("\(option): '\(file)' is no file that can be read")
    }
    return pem
  }

  /// The transport that is asked for.
  func transport() -> any HTTPTransport {
    guard kind != .urlsession else { return URLSessionTransport() }
    var configuration = SocketTransport.Configuration()
    configuration.tls = tls
    return SocketTransport(configuration: configuration)
  }
}
