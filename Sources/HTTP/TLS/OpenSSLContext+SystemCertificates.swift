import Foundation

extension OpenSSLContext {
  /// Throws `insecure` if there are no certificates to trust: OpenSSL says nothing if it cannot read the system's file,
  /// which it reads only once. The folders it reads at each handshake.
  func checkSystemCertificates() throws(RequestError) {
    let folders = library.systemCertificateFolders
    guard library.stackCount(library.storeObjects(library.contextStore(handle))) <= 0,
      !folders.split(separator: ":").contains(where: { hasCertificates(String($0)) })
    else { return }
    throw RequestError(
      .insecure,
      """
      This machine has no trusted certificates: there are none in the file \
      '\(library.systemCertificateFile)' and none in the folder '\(folders)'. Install them, \
      with 'apt-get install ca-certificates', or give the certificates to trust in the TLS configuration.
      """)
  }

  /// Whether OpenSSL can find a certificate in a folder: under the hash of its subject, and a number from 0.
  private func hasCertificates(_ folder: String) -> Bool {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    return names?.contains { $0.hasSuffix(".0") } ?? false
  }
}

extension OpenSSL {
  /// Where the system's certificates are, in one file.
  var systemCertificateFile: String { place("SSL_CERT_FILE", defaultCertificateFile()) }

  /// Where the system's certificates are, one per file; several folders are separated by colons.
  fileprivate var systemCertificateFolders: String { place("SSL_CERT_DIR", defaultCertificateFolders()) }

  private func place(_ variable: String, _ usual: Text?) -> String {
    (getenv(variable).map { UnsafePointer($0) } ?? usual).map { String(cString: $0) } ?? ""
  }
}
