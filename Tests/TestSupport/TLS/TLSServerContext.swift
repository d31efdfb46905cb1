import Foundation

/// How a TLS server in a test behaves.
package struct TLSServerSettings: Sendable {
  /// A version of TLS, as OpenSSL numbers it.
  package enum Version: CLong, Sendable {
    case tls11 = 0x0302
    case tls12 = 0x0303
    case tls13 = 0x0304
  }

  package var certificate: TestCertificate
  package var versions: ClosedRange<Int> = 0x0302...0x0304
  /// Where set, a client must show a certificate of this authority.
  package var clientAuthority: TestCertificate?
  /// What the server chooses by ALPN, whatever was offered.
  package var chosenProtocol: String?

  package init(certificate: TestCertificate) {
    self.certificate = certificate
  }

  /// The same for one version alone.
  package func only(_ version: Version) -> TLSServerSettings {
    var settings = self
    settings.versions = Int(version.rawValue)...Int(version.rawValue)
    return settings
  }
}

/// An `SSL_CTX` of a server: what its connections share, and so what makes resumption possible.
package final class TLSServerContext: @unchecked Sendable {
  // The SSL_CTX is set up by `init` alone, and made for use by several threads after that.
  let handle: Handle
  private let chosenProtocol: UnsafeMutableBufferPointer<UInt8>

  package init(_ settings: TLSServerSettings) throws {
    let new: @convention(c) (Handle?) -> Handle? = try openSSL("SSL_CTX_new")
    handle = try made("SSL_CTX_new", new(make("TLS_server_method")))
    let choice = Array((settings.chosenProtocol ?? "http/1.1").utf8)
    chosenProtocol = .allocate(capacity: choice.count + 1)
    _ = chosenProtocol.initialize(from: [UInt8(choice.count)] + choice)

    let control: @convention(c) (Handle?, CInt, CLong, UnsafeRawPointer?) -> CLong = try openSSL("SSL_CTX_ctrl")
    _ = control(handle, 123, settings.versions.lowerBound, nil)  // SSL_CTRL_SET_MIN_PROTO_VERSION
    _ = control(handle, 124, settings.versions.upperBound, nil)  // SSL_CTRL_SET_MAX_PROTO_VERSION
    let setCiphers: @convention(c) (Handle?, UnsafePointer<CChar>?) -> CInt = try openSSL("SSL_CTX_set_cipher_list")
    // Below TLS 1.2 there is nothing that OpenSSL's usual level of security allows.
    try check("SSL_CTX_set_cipher_list", setCiphers(handle, "ALL:@SECLEVEL=0"))
    let setContext: @convention(c) (Handle?, UnsafePointer<CChar>?, CUnsignedInt) -> CInt =
      try openSSL("SSL_CTX_set_session_id_context")
    try check("SSL_CTX_set_session_id_context", setContext(handle, "test", 4))
    try show(settings.certificate, control)
    if let authority = settings.clientAuthority { try require(authority) }
    try choose()
  }

  deinit {
    free("SSL_CTX_free", handle)
    chosenProtocol.deallocate()
  }

  private func show(
    _ certificate: TestCertificate, _ control: @convention(c) (Handle?, CInt, CLong, UnsafeRawPointer?) -> CLong
  ) throws {
    let own = try TestCertificate.readCertificate(certificate.certificate)
    defer { free("X509_free", own) }
    try call("SSL_CTX_use_certificate", handle, own)
    if !certificate.intermediates.isEmpty {
      let intermediate = try TestCertificate.readCertificate(certificate.intermediates)
      defer { free("X509_free", intermediate) }
      _ = control(handle, 89, 1, UnsafeRawPointer(intermediate))  // SSL_CTRL_CHAIN_CERT
    }
    let key = try TestCertificate.readKey(certificate.key)
    defer { free("EVP_PKEY_free", key) }
    try call("SSL_CTX_use_PrivateKey", handle, key)
  }

  private func require(_ authority: TestCertificate) throws {
    let setVerify: @convention(c) (Handle?, CInt, Handle?) -> Void = try openSSL("SSL_CTX_set_verify")
    setVerify(handle, 3, nil)  // SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    let certificate = try TestCertificate.readCertificate(authority.certificate)
    defer { free("X509_free", certificate) }
    try call("X509_STORE_add_cert", part("SSL_CTX_get_cert_store", of: handle), certificate)
  }

  private func choose() throws {
    typealias Choose =
      @convention(c) (
        Handle?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?,
        CUnsignedInt, UnsafeMutableRawPointer?
      ) -> CInt
    let setChoice: @convention(c) (Handle?, Choose?, UnsafeMutableRawPointer?) -> Void =
      try openSSL("SSL_CTX_set_alpn_select_cb")
    let choose: Choose = { _, choice, count, _, _, argument in
      guard let bytes = argument?.assumingMemoryBound(to: UInt8.self) else { return 3 }  // SSL_TLSEXT_ERR_NOACK
      choice?.pointee = UnsafePointer(bytes + 1)
      count?.pointee = bytes[0]
      return 0
    }
    setChoice(handle, choose, chosenProtocol.baseAddress)
  }
}
