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

  /// Throws unless the options go together and their files can be read.
  func check() throws(UsageError) {
    guard (certificate == nil) == (key == nil) else {
      throw UsageError("--cert and --key go together; give both, or the same file twice")
    }
    let files = [("--ca", authority), ("--cert", certificate), ("--key", key)]
    for case (let option, let file?) in files {
      guard kind != .urlsession else {
        throw UsageError("\(option) does not go with --transport urlsession; use --transport socket")
      }
      guard FileManager.default.isReadableFile(atPath: file) else {
        throw UsageError("\(option): the file '\(file)' cannot be read")
      }
    }
  }

  /// The transport that is asked for.
  func transport() -> any HTTPTransport {
    guard kind != .urlsession else { return URLSessionTransport() }
    var configuration = SocketTransport.Configuration()
    if let authority { configuration.tls.trust = .systemAnd(.file(authority)) }
    if let certificate, let key {
      configuration.tls.identity = ClientIdentity(certificates: .file(certificate), privateKey: .file(key))
    }
    return SocketTransport(configuration: configuration)
  }
}
