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

  /// Throws unless the options go together and their files hold what they should.
  func check() throws(UsageError) {
    guard (certificate == nil) == (key == nil) else {
      throw UsageError("--cert and --key go together; give both, or the same file twice")
    }
    let files = [("--ca", authority), ("--cert", certificate), ("--key", key)]
    for case (let option, let file?) in files {
      guard kind != .urlsession else {
        throw UsageError("\(option) does not go with --transport urlsession; use --transport socket")
      }
      var isFolder: ObjCBool = false
      let isThere = FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
      guard isThere, !isFolder.boolValue, FileManager.default.isReadableFile(atPath: file) else {
        throw UsageError("\(option): '\(file)' is no file that can be read")
      }
    }
    guard authority != nil || identity != nil else { return }
    do throws(RequestError) {
      // The system's own certificates would take time, and say nothing of these files.
      let trust = authority.map { CertificateTrust.only(.file($0)) } ?? .only()
      try TLSContext(TLSConfiguration(trust: trust, identity: identity)).prepare()
    } catch {
      throw UsageError(error.message)
    }
  }

  private var identity: ClientIdentity? {
    guard let certificate, let key else { return nil }
    return ClientIdentity(certificates: .file(certificate), privateKey: .file(key))
  }

  /// The transport that is asked for.
  func transport() -> any HTTPTransport {
    guard kind != .urlsession else { return URLSessionTransport() }
    var configuration = SocketTransport.Configuration()
    if let authority { configuration.tls.trust = .systemAnd(.file(authority)) }
    configuration.tls.identity = identity
    return SocketTransport(configuration: configuration)
  }
}
