import Foundation

/// A self-signed certificate for localhost and its key, as files in PEM.
struct ServerCertificate: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description = "The command openssl could not make a certificate. Install OpenSSL."
  }

  private let folder: URL

  var certificate: String { folder.appending(path: "cert.pem").path() }
  var key: String { folder.appending(path: "key.pem").path() }

  /// Makes them with the command `openssl`.
  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "RequestTrace.\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
      + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 {
      remove()
      throw Failure()
    }
  }

  func remove() { try? FileManager.default.removeItem(at: folder) }
}
