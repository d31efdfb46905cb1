import HTTPClientCore
import SystemBase

/// An `SSL_CTX` that is set up from a configuration.
final class OpenSSLContext: @unchecked Sendable {
  // Only `init` changes the SSL_CTX; after that, several threads may use it (openssl-threads(7)).
  let handle: OpenSSL.Handle
  let library: OpenSSL
  let pins: Set<PublicKeyPin>
  let hasIdentity: Bool
  /// The tickets of its sessions: those that were made with other certificates are not to be resumed.
  let tickets = TicketStore()
  /// The files that the configuration names, as they were before they were read.
  private let files: [(path: String, stamp: FileStamp?)]

  init(_ configuration: TLSConfiguration) throws(RequestError) {
    library = try OpenSSL.shared.get()
    library.errorClear()
    guard let handle = library.contextNew(library.clientMethod()) else {
      throw RequestError(.insecure, "OpenSSL cannot make a context: \(library.lastReason().text).")
    }
    self.handle = handle
    pins = configuration.pins
    hasIdentity = configuration.identity != nil
    var paths = configuration.files
    if configuration.trust.includesSystem { paths.append(library.systemCertificateFile) }
    files = paths.map { ($0, FileStamp($0)) }

    let isTLS13 = configuration.minimumVersion == .tls13
    try check(library.contextControl(handle, OpenSSL.Control.minimumVersion, isTLS13 ? 0x0304 : 0x0303, nil) == 1)
    try check(library.contextSetCipherSuites(handle, cipherSuites.joined(separator: ":")) == 1)
    _ = library.contextSetOptions(handle, OpenSSL.Setting.noRenegotiation)
    _ = library.contextControl(handle, OpenSSL.Control.mode, OpenSSL.Setting.releaseBuffers, nil)
    _ = library.contextControl(
      handle, OpenSSL.Control.sessionCacheMode, OpenSSL.Setting.cacheForClientOutside, nil)

    library.contextSetVerify(handle, OpenSSL.Setting.verifyPeer, nil)
    // OpenSSL keeps the address of `self` for as long as the SSL_CTX lives; each session retains `self`.
    library.contextSetVerifyCallback(handle, TLSSession.verify, Unmanaged.passUnretained(self).toOpaque())
    library.contextSetCertificateCallback(handle, TLSSession.recordCertificateRequest, nil)
    library.contextSetNewSessionCallback(handle, TLSSession.keepTicket)
    if let identity = configuration.identity { try use(identity) }
    try add(configuration.trust)
  }

  deinit {
    library.contextFree(handle)
  }

  /// Whether a file has changed since it was read.
  var isOutdated: Bool { files.contains { FileStamp($0.path) != $0.stamp } }

  /// The TLS 1.3 cipher suites that the system allows, with AES-128 first: it takes less time than AES-256, which
  /// OpenSSL would offer first by default.
  private var cipherSuites: [String] {
    let ciphers = library.contextCiphers(handle)
    let names = (0..<max(library.stackCount(ciphers), 0)).compactMap { index in
      library.cipherName(library.stackValue(ciphers, index)).map { String(cString: $0) }
    }
    let suites = names.filter { $0.hasPrefix("TLS_") }
    return suites.filter { $0.contains("AES_128") } + suites.filter { !$0.contains("AES_128") }
  }

  private func add(_ trust: CertificateTrust) throws(RequestError) {
    let store = library.contextStore(handle)
    for pem in trust.authorities {
      let certificates = try certificates(in: pem)
      defer { certificates.forEach(library.certificateFree) }
      for certificate in certificates { try check(library.storeAdd(store, certificate) == 1, in: pem) }
    }
    // Last, because it takes long: errors in the rest are found before.
    if trust.includesSystem {
      try check(library.contextSetDefaultVerifyPaths(handle) == 1)
      try checkSystemCertificates()
    }
    // A certificate that the user trusts need not be the root of a chain.
    try check(
      library.parametersSetFlags(library.contextParameters(handle), OpenSSL.Setting.acceptPartialChains) == 1)
  }

  private func use(_ identity: ClientIdentity) throws(RequestError) {
    let certificates = try certificates(in: identity.certificates)
    defer { certificates.forEach(library.certificateFree) }
    library.errorClear()
    try check(library.contextUseCertificate(handle, certificates[0]) == 1, in: identity.certificates)
    for certificate in certificates.dropFirst() {
      let status = library.contextControl(
        handle, OpenSSL.Control.addChainCertificate, 1, UnsafeMutableRawPointer(certificate))
      try check(status == 1, in: identity.certificates)
    }
    let key = try privateKey(in: identity.privateKey)
    defer { library.keyFree(key) }
    library.errorClear()
    guard library.contextUsePrivateKey(handle, key) == 1, library.contextCheckPrivateKey(handle) == 1 else {
      throw RequestError(
        .insecure, "The private key and the client certificate do not fit: \(library.lastReason().text).")
    }
  }

  /// All certificates in a PEM text, at least one; the caller frees them.
  private func certificates(in pem: PEM) throws(RequestError) -> [OpenSSL.Handle] {
    let bytes = try pem.read()
    library.errorClear()
    let certificates = withBIO(over: bytes) { bio in
      Array(sequence(state: ()) { _ in self.library.readCertificate(bio, nil, noPassword, nil) })
    }
    // After the last certificate, OpenSSL reports that there is no start line; any other error means a broken
    // certificate.
    let reason = library.lastReason()
    library.errorClear()
    guard !certificates.isEmpty, reason.code == OpenSSL.Reason.noStartLine else {
      certificates.forEach(library.certificateFree)
      throw RequestError(.insecure, "There is no readable certificate in \(pem): \(reason.text).")
    }
    return certificates
  }

  /// The private key in a PEM text; the caller frees it.
  private func privateKey(in pem: PEM) throws(RequestError) -> OpenSSL.Handle {
    let bytes = try pem.read()
    library.errorClear()
    guard let key = withBIO(over: bytes, { library.readPrivateKey($0, nil, noPassword, nil) }) else {
      let reason = library.lastReason().text
      let hint = "It must be there and not encrypted: 'openssl pkey -in KEY' takes a password off."
      throw RequestError(.insecure, "There is no readable private key in \(pem): \(reason). \(hint)")
    }
    return key
  }

  private func withBIO<Result>(over bytes: Data, _ body: (OpenSSL.Handle?) -> Result) -> Result {
    bytes.withUnsafeBytes { bytes in
      let bio = library.bioOver(bytes.baseAddress, CInt(clamping: bytes.count))
      defer { _ = library.bioFree(bio) }
      return body(bio)
    }
  }

  private func check(_ isFine: Bool, in pem: PEM? = nil) throws(RequestError) {
    guard !isFine else { return }
    let place = pem.map { " \($0)" } ?? ""
    throw RequestError(.insecure, "OpenSSL does not take the configuration\(place): \(library.lastReason().text).")
  }
}

/// Provides no password; without this callback, OpenSSL asks for one at the terminal.
private let noPassword: OpenSSL.PasswordCallback = { _, _, _, _ in -1 }

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
