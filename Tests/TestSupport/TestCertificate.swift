package import Foundation

/// A certificate and its key, made on the spot with OpenSSL (P-256), to be served, shown or trusted in a test.
package struct TestCertificate: Sendable {
  /// What stands in a certificate.
  package struct Contents: Sendable {
    package var commonName = "Test"
    /// As in `DNS:localhost` and `IP:127.0.0.1`.
    package var names: [String] = []
    package var isAuthority = false
    /// As in `clientAuth`; no restriction where `nil`.
    package var usage: String?
    /// In seconds from now.
    package var begin = -86_400
    /// In seconds from now.
    package var end = 86_400

    package init(
      commonName: String = "Test", names: [String] = [], isAuthority: Bool = false, usage: String? = nil,
      begin: Int = -86_400, end: Int = 86_400
    ) {
      (self.commonName, self.names, self.isAuthority, self.usage) = (commonName, names, isAuthority, usage)
      (self.begin, self.end) = (begin, end)
    }
  }

  /// The certificate alone.
  package let certificate: Data

  /// The certificates between it and its root, without both.
  package let intermediates: Data

  /// The private key, not encrypted.
  package let key: Data

  /// The SHA-256 of its SubjectPublicKeyInfo.
  package let pin: Data

  /// The certificate and the intermediates, as a server or client shows them.
  package var chain: Data { certificate + intermediates }

  /// Makes one that signs itself, or that another one signs.
  package init(_ contents: Contents, signedBy issuer: TestCertificate? = nil) throws {
    let key = try Self.makeKey()
    defer { free("EVP_PKEY_free", key) }
    let certificate = try make("X509_new")
    defer { free("X509_free", certificate) }
    try Self.fill(certificate, with: contents, key: key)
    try Self.sign(certificate, key: key, issuer: issuer)
    self.certificate = try written { bio in try call("PEM_write_bio_X509", bio, certificate) }
    self.key = try Self.write(key, password: nil)
    self.pin = try Self.hashKey(of: certificate)
    intermediates = issuer.map { $0.isSelfSigned ? Data() : $0.chain } ?? Data()
    isSelfSigned = issuer == nil
  }

  /// The same as an issuer whose certificates come without the ones that lead to their root.
  package static func withoutIntermediates(_ issuer: TestCertificate) -> TestCertificate {
    TestCertificate(copying: issuer, isSelfSigned: true)
  }

  private init(copying other: TestCertificate, isSelfSigned: Bool) {
    (certificate, intermediates, key, pin) = (other.certificate, other.intermediates, other.key, other.pin)
    self.isSelfSigned = isSelfSigned
  }

  /// The key, encrypted with a password.
  package func encryptedKey(password: String) throws -> Data {
    let key = try Self.readKey(key)
    defer { free("EVP_PKEY_free", key) }
    return try Self.write(key, password: password)
  }

  private let isSelfSigned: Bool

  private static func makeKey() throws -> Handle {
    let contextNew: @convention(c) (CInt, Handle?) -> Handle? = try openSSL("EVP_PKEY_CTX_new_id")
    let context = try made("EVP_PKEY_CTX_new_id", contextNew(408, nil))  // EVP_PKEY_EC
    defer { free("EVP_PKEY_CTX_free", context) }
    let begin: @convention(c) (Handle?) -> CInt = try openSSL("EVP_PKEY_keygen_init")
    try check("EVP_PKEY_keygen_init", begin(context))
    let setCurve: @convention(c) (Handle?, CInt) -> CInt = try openSSL("EVP_PKEY_CTX_set_ec_paramgen_curve_nid")
    try check("EVP_PKEY_CTX_set_ec_paramgen_curve_nid", setCurve(context, 415))  // NID_X9_62_prime256v1
    let generate: @convention(c) (Handle?, UnsafeMutablePointer<Handle?>) -> CInt = try openSSL("EVP_PKEY_keygen")
    var key: Handle?
    try check("EVP_PKEY_keygen", generate(context, &key))
    return try made("EVP_PKEY_keygen", key)
  }

  private static func fill(_ certificate: Handle, with contents: Contents, key: Handle) throws {
    let setVersion: @convention(c) (Handle?, CLong) -> CInt = try openSSL("X509_set_version")
    try check("X509_set_version", setVersion(certificate, 2))
    let setInteger: @convention(c) (Handle?, CLong) -> CInt = try openSSL("ASN1_INTEGER_set")
    let serial = try part("X509_get_serialNumber", of: certificate)
    try check("ASN1_INTEGER_set", setInteger(serial, Int.random(in: 1..<Int(Int32.max))))
    let setTime: @convention(c) (Handle?, CLong) -> Handle? = try openSSL("X509_gmtime_adj")
    _ = try made("X509_gmtime_adj", setTime(part("X509_getm_notBefore", of: certificate), contents.begin))
    _ = try made("X509_gmtime_adj", setTime(part("X509_getm_notAfter", of: certificate), contents.end))
    try call("X509_set_pubkey", certificate, key)
    let addEntry:
      @convention(c) (Handle?, UnsafePointer<CChar>?, CInt, UnsafePointer<CChar>?, CInt, CInt, CInt) -> CInt =
        try openSSL("X509_NAME_add_entry_by_txt")
    let subject = try part("X509_get_subject_name", of: certificate)
    try check("X509_NAME_add_entry_by_txt", addEntry(subject, "CN", 0x1000, contents.commonName, -1, -1, 0))
    try add(87, contents.isAuthority ? "critical,CA:TRUE" : "CA:FALSE", to: certificate)  // basicConstraints
    if contents.isAuthority { try add(83, "critical,keyCertSign,cRLSign", to: certificate) }  // keyUsage
    if let usage = contents.usage { try add(126, usage, to: certificate) }  // extendedKeyUsage
    if !contents.names.isEmpty { try add(85, contents.names.joined(separator: ","), to: certificate) }
  }

  private static func add(_ identifier: CInt, _ value: String, to certificate: Handle) throws {
    let makeExtension: @convention(c) (Handle?, Handle?, CInt, UnsafePointer<CChar>?) -> Handle? =
      try openSSL("X509V3_EXT_conf_nid")
    let extensionHandle = try made("X509V3_EXT_conf_nid", makeExtension(nil, nil, identifier, value))
    defer { free("X509_EXTENSION_free", extensionHandle) }
    let addExtension: @convention(c) (Handle?, Handle?, CInt) -> CInt = try openSSL("X509_add_ext")
    try check("X509_add_ext", addExtension(certificate, extensionHandle, -1))
  }

  private static func sign(_ certificate: Handle, key: Handle, issuer: TestCertificate?) throws {
    let sign: @convention(c) (Handle?, Handle?, Handle?) -> CInt = try openSSL("X509_sign")
    guard let issuer else {
      try call("X509_set_issuer_name", certificate, part("X509_get_subject_name", of: certificate))
      return try check("X509_sign", sign(certificate, key, make("EVP_sha256")))
    }
    let issuerCertificate = try readCertificate(issuer.certificate)
    defer { free("X509_free", issuerCertificate) }
    let issuerKey = try readKey(issuer.key)
    defer { free("EVP_PKEY_free", issuerKey) }
    try call("X509_set_issuer_name", certificate, part("X509_get_subject_name", of: issuerCertificate))
    try check("X509_sign", sign(certificate, issuerKey, make("EVP_sha256")))
  }

  private static func write(_ key: Handle, password: String?) throws -> Data {
    let write:
      @convention(c) (
        Handle?, Handle?, Handle?, UnsafePointer<CChar>?, CInt, Handle?, UnsafePointer<CChar>?
      ) -> CInt = try openSSL("PEM_write_bio_PrivateKey")
    let cipher = password == nil ? nil : try make("EVP_aes_128_cbc")
    return try written { bio in
      try check("PEM_write_bio_PrivateKey", write(bio, key, cipher, nil, 0, nil, password))
    }
  }

  private static func hashKey(of certificate: Handle) throws -> Data {
    // i2d_X509_PUBKEY_bio writes the SubjectPublicKeyInfo.
    let encoded = try written { bio in
      try call("i2d_X509_PUBKEY_bio", bio, part("X509_get_X509_PUBKEY", of: certificate))
    }
    let hash: @convention(c) (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?) -> OpaquePointer? =
      try openSSL("SHA256")
    var result = [UInt8](repeating: 0, count: 32)
    _ = hash(Array(encoded), encoded.count, &result)
    return Data(result)
  }

  static func readCertificate(_ pem: Data) throws -> Handle {
    let read: @convention(c) (Handle?, Handle?, Handle?, Handle?) -> Handle? = try openSSL("PEM_read_bio_X509")
    return try withBIO(over: pem) { try made("PEM_read_bio_X509", read($0, nil, nil, nil)) }
  }

  static func readKey(_ pem: Data) throws -> Handle {
    let read: @convention(c) (Handle?, Handle?, Handle?, Handle?) -> Handle? = try openSSL("PEM_read_bio_PrivateKey")
    return try withBIO(over: pem) { try made("PEM_read_bio_PrivateKey", read($0, nil, nil, nil)) }
  }
}
