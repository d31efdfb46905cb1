import Foundation

/// A self-signed certificate for 127.0.0.1 and its key, as files in PEM.
package struct ServerCertificate {
  private let folder: URL

  package var certificate: String { folder.appending(path: "cert.pem").path() }
  package var key: String { folder.appending(path: "key.pem").path() }

  /// Makes them with the command `openssl`.
  package init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "Benchmarks.\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
      + ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
  }

  package func remove() { try? FileManager.default.removeItem(at: folder) }
}
