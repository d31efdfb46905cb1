package import HTTPClientCore

/// The functions of the system's OpenSSL 3 that TLS needs, each as its manual page declares it; none is variadic.
///
/// The library protects its own state (openssl-threads(7)); each wrapper of an object says which threads may use it.
package final class OpenSSL: Sendable {
  typealias Handle = OpaquePointer
  typealias Pointer = UnsafeMutableRawPointer
  typealias Text = UnsafePointer<CChar>
  typealias VerifyCallback = @convention(c) @Sendable (Handle?, Pointer?) -> CInt
  typealias CertificateCallback = @convention(c) @Sendable (Handle?, Pointer?) -> CInt
  typealias NewSessionCallback = @convention(c) @Sendable (Handle?, Handle?) -> CInt
  typealias BIORead = @convention(c) @Sendable (Handle?, Pointer?, Int, UnsafeMutablePointer<Int>?) -> CInt
  typealias BIOWrite = @convention(c) @Sendable (Handle?, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>?) -> CInt
  typealias BIOControl = @convention(c) @Sendable (Handle?, CInt, CLong, Pointer?) -> CLong
  typealias PasswordCallback = @convention(c) @Sendable (UnsafeMutablePointer<CChar>?, CInt, CInt, Pointer?) -> CInt

  let initialize: @convention(c) @Sendable (UInt64, Handle?) -> CInt

  // SSL_CTX
  let clientMethod: @convention(c) @Sendable () -> Handle?
  let contextNew: @convention(c) @Sendable (Handle?) -> Handle?
  let contextFree: @convention(c) @Sendable (Handle?) -> Void
  let contextControl: @convention(c) @Sendable (Handle?, CInt, CLong, Pointer?) -> CLong
  let contextSetOptions: @convention(c) @Sendable (Handle?, UInt64) -> UInt64
  let contextSetVerify: @convention(c) @Sendable (Handle?, CInt, Pointer?) -> Void
  let contextSetVerifyCallback: @convention(c) @Sendable (Handle?, VerifyCallback?, Pointer?) -> Void
  let contextSetCertificateCallback: @convention(c) @Sendable (Handle?, CertificateCallback?, Pointer?) -> Void
  let contextSetNewSessionCallback: @convention(c) @Sendable (Handle?, NewSessionCallback?) -> Void
  let contextSetDefaultVerifyPaths: @convention(c) @Sendable (Handle?) -> CInt
  let contextStore: @convention(c) @Sendable (Handle?) -> Handle?
  let contextParameters: @convention(c) @Sendable (Handle?) -> Handle?
  let contextUseCertificate: @convention(c) @Sendable (Handle?, Handle?) -> CInt
  let contextUsePrivateKey: @convention(c) @Sendable (Handle?, Handle?) -> CInt
  let contextCheckPrivateKey: @convention(c) @Sendable (Handle?) -> CInt
  let contextCiphers: @convention(c) @Sendable (Handle?) -> Handle?
  let contextSetCipherSuites: @convention(c) @Sendable (Handle?, Text?) -> CInt
  let cipherName: @convention(c) @Sendable (Handle?) -> Text?

  // SSL
  let sessionNew: @convention(c) @Sendable (Handle?) -> Handle?
  let sessionFree: @convention(c) @Sendable (Handle?) -> Void
  let sessionControl: @convention(c) @Sendable (Handle?, CInt, CLong, Pointer?) -> CLong
  let setBIOs: @convention(c) @Sendable (Handle?, Handle?, Handle?) -> Void
  let setConnectState: @convention(c) @Sendable (Handle?) -> Void
  let setHost: @convention(c) @Sendable (Handle?, Text?) -> CInt
  let setHostFlags: @convention(c) @Sendable (Handle?, CUnsignedInt) -> Void
  let parameters: @convention(c) @Sendable (Handle?) -> Handle?
  let setData: @convention(c) @Sendable (Handle?, CInt, Pointer?) -> CInt
  let data: @convention(c) @Sendable (Handle?, CInt) -> Pointer?
  let handshake: @convention(c) @Sendable (Handle?) -> CInt
  let read: @convention(c) @Sendable (Handle?, Pointer?, Int, UnsafeMutablePointer<Int>) -> CInt
  let hasPending: @convention(c) @Sendable (Handle?) -> CInt
  let write: @convention(c) @Sendable (Handle?, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>) -> CInt
  let shutdown: @convention(c) @Sendable (Handle?) -> CInt
  let setShutdown: @convention(c) @Sendable (Handle?, CInt) -> Void
  let error: @convention(c) @Sendable (Handle?, CInt) -> CInt
  let verifyResult: @convention(c) @Sendable (Handle?) -> CLong
  let version: @convention(c) @Sendable (Handle?) -> Text?
  let sessionSetProtocols: @convention(c) @Sendable (Handle?, UnsafePointer<UInt8>?, CUnsignedInt) -> CInt
  let selectedProtocol:
    @convention(c) @Sendable (
      Handle?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<CUnsignedInt>
    ) -> Void

  // SSL_SESSION
  let setTicket: @convention(c) @Sendable (Handle?, Handle?) -> CInt
  let isReused: @convention(c) @Sendable (Handle?) -> CInt
  let ticketFree: @convention(c) @Sendable (Handle?) -> Void
  let ticketVersion: @convention(c) @Sendable (Handle?) -> CInt
  let ticketIsResumable: @convention(c) @Sendable (Handle?) -> CInt

  // BIO
  let bioNew: @convention(c) @Sendable (Handle?) -> Handle?
  let bioOver: @convention(c) @Sendable (UnsafeRawPointer?, CInt) -> Handle?
  let bioFree: @convention(c) @Sendable (Handle?) -> CInt
  let bioSetInitialized: @convention(c) @Sendable (Handle?, CInt) -> Void
  let bioSetData: @convention(c) @Sendable (Handle?, Pointer?) -> Void
  let bioData: @convention(c) @Sendable (Handle?) -> Pointer?
  let bioSetFlags: @convention(c) @Sendable (Handle?, CInt) -> Void
  let bioClearFlags: @convention(c) @Sendable (Handle?, CInt) -> Void
  let bioNewType: @convention(c) @Sendable () -> CInt
  let methodNew: @convention(c) @Sendable (CInt, Text?) -> Handle?
  let methodSetRead: @convention(c) @Sendable (Handle?, BIORead?) -> CInt
  let methodSetWrite: @convention(c) @Sendable (Handle?, BIOWrite?) -> CInt
  let methodSetControl: @convention(c) @Sendable (Handle?, BIOControl?) -> CInt

  // X509
  let storeAdd: @convention(c) @Sendable (Handle?, Handle?) -> CInt
  let storeObjects: @convention(c) @Sendable (Handle?) -> Handle?
  let defaultCertificateFile: @convention(c) @Sendable () -> Text?
  let defaultCertificateFolders: @convention(c) @Sendable () -> Text?
  let parametersSetFlags: @convention(c) @Sendable (Handle?, CUnsignedLong) -> CInt
  let parametersSetAddress: @convention(c) @Sendable (Handle?, Text?) -> CInt
  let certificateFree: @convention(c) @Sendable (Handle?) -> Void
  let certificateKey: @convention(c) @Sendable (Handle?) -> Handle?
  let certificateExtension: @convention(c) @Sendable (Handle?, CInt, Pointer?, Pointer?) -> Handle?
  let encodeKey: @convention(c) @Sendable (Handle?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
  let verify: @convention(c) @Sendable (Handle?) -> CInt
  let verifyErrorText: @convention(c) @Sendable (CLong) -> Text?
  let verificationSetError: @convention(c) @Sendable (Handle?, CInt) -> Void
  let verificationCertificate: @convention(c) @Sendable (Handle?) -> Handle?
  let verificationChain: @convention(c) @Sendable (Handle?) -> Handle?
  let verificationData: @convention(c) @Sendable (Handle?, CInt) -> Pointer?
  let verificationSessionIndex: @convention(c) @Sendable () -> CInt
  let generalName: @convention(c) @Sendable (Handle?, UnsafeMutablePointer<CInt>) -> Handle?
  let generalNamesFree: @convention(c) @Sendable (Handle?) -> Void
  let stringBytes: @convention(c) @Sendable (Handle?) -> UnsafePointer<UInt8>?
  let stringCount: @convention(c) @Sendable (Handle?) -> CInt
  let stackCount: @convention(c) @Sendable (Handle?) -> CInt
  let stackValue: @convention(c) @Sendable (Handle?, CInt) -> Handle?

  // PEM, EVP and ERR
  let readCertificate: @convention(c) @Sendable (Handle?, Pointer?, PasswordCallback?, Pointer?) -> Handle?
  let readPrivateKey: @convention(c) @Sendable (Handle?, Pointer?, PasswordCallback?, Pointer?) -> Handle?
  let keyFree: @convention(c) @Sendable (Handle?) -> Void
  let sha256: @convention(c) @Sendable () -> Handle?
  let digest:
    @convention(c) @Sendable (
      UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CUnsignedInt>?, Handle?, Handle?
    ) -> CInt
  let errorPeekLast: @convention(c) @Sendable () -> CUnsignedLong
  let errorClear: @convention(c) @Sendable () -> Void
  let errorReason: @convention(c) @Sendable (CUnsignedLong) -> Text?

  init(ssl: DynamicLibrary, crypto: DynamicLibrary) throws(DynamicLibraryError) {
    initialize = try crypto.function("OPENSSL_init_crypto")

    clientMethod = try ssl.function("TLS_client_method")
    contextNew = try ssl.function("SSL_CTX_new")
    contextFree = try ssl.function("SSL_CTX_free")
    contextControl = try ssl.function("SSL_CTX_ctrl")
    contextSetOptions = try ssl.function("SSL_CTX_set_options")
    contextSetVerify = try ssl.function("SSL_CTX_set_verify")
    contextSetVerifyCallback = try ssl.function("SSL_CTX_set_cert_verify_callback")
    contextSetCertificateCallback = try ssl.function("SSL_CTX_set_cert_cb")
    contextSetNewSessionCallback = try ssl.function("SSL_CTX_sess_set_new_cb")
    contextSetDefaultVerifyPaths = try ssl.function("SSL_CTX_set_default_verify_paths")
    contextStore = try ssl.function("SSL_CTX_get_cert_store")
    contextParameters = try ssl.function("SSL_CTX_get0_param")
    contextUseCertificate = try ssl.function("SSL_CTX_use_certificate")
    contextUsePrivateKey = try ssl.function("SSL_CTX_use_PrivateKey")
    contextCheckPrivateKey = try ssl.function("SSL_CTX_check_private_key")
    contextCiphers = try ssl.function("SSL_CTX_get_ciphers")
    contextSetCipherSuites = try ssl.function("SSL_CTX_set_ciphersuites")
    cipherName = try ssl.function("SSL_CIPHER_get_name")

    sessionNew = try ssl.function("SSL_new")
    sessionFree = try ssl.function("SSL_free")
    sessionControl = try ssl.function("SSL_ctrl")
    setBIOs = try ssl.function("SSL_set_bio")
    setConnectState = try ssl.function("SSL_set_connect_state")
    setHost = try ssl.function("SSL_set1_host")
    setHostFlags = try ssl.function("SSL_set_hostflags")
    parameters = try ssl.function("SSL_get0_param")
    setData = try ssl.function("SSL_set_ex_data")
    data = try ssl.function("SSL_get_ex_data")
    handshake = try ssl.function("SSL_do_handshake")
    read = try ssl.function("SSL_read_ex")
    hasPending = try ssl.function("SSL_has_pending")
    write = try ssl.function("SSL_write_ex")
    shutdown = try ssl.function("SSL_shutdown")
    setShutdown = try ssl.function("SSL_set_shutdown")
    error = try ssl.function("SSL_get_error")
    verifyResult = try ssl.function("SSL_get_verify_result")
    version = try ssl.function("SSL_get_version")
    sessionSetProtocols = try ssl.function("SSL_set_alpn_protos")
    selectedProtocol = try ssl.function("SSL_get0_alpn_selected")

    setTicket = try ssl.function("SSL_set_session")
    isReused = try ssl.function("SSL_session_reused")
    ticketFree = try ssl.function("SSL_SESSION_free")
    ticketVersion = try ssl.function("SSL_SESSION_get_protocol_version")
    ticketIsResumable = try ssl.function("SSL_SESSION_is_resumable")

    bioNew = try crypto.function("BIO_new")
    bioOver = try crypto.function("BIO_new_mem_buf")
    bioFree = try crypto.function("BIO_free")
    bioSetInitialized = try crypto.function("BIO_set_init")
    bioSetData = try crypto.function("BIO_set_data")
    bioData = try crypto.function("BIO_get_data")
    bioSetFlags = try crypto.function("BIO_set_flags")
    bioClearFlags = try crypto.function("BIO_clear_flags")
    bioNewType = try crypto.function("BIO_get_new_index")
    methodNew = try crypto.function("BIO_meth_new")
    methodSetRead = try crypto.function("BIO_meth_set_read_ex")
    methodSetWrite = try crypto.function("BIO_meth_set_write_ex")
    methodSetControl = try crypto.function("BIO_meth_set_ctrl")

    storeAdd = try crypto.function("X509_STORE_add_cert")
    storeObjects = try crypto.function("X509_STORE_get0_objects")
    defaultCertificateFile = try crypto.function("X509_get_default_cert_file")
    defaultCertificateFolders = try crypto.function("X509_get_default_cert_dir")
    parametersSetFlags = try crypto.function("X509_VERIFY_PARAM_set_flags")
    parametersSetAddress = try crypto.function("X509_VERIFY_PARAM_set1_ip_asc")
    certificateFree = try crypto.function("X509_free")
    certificateKey = try crypto.function("X509_get_X509_PUBKEY")
    certificateExtension = try crypto.function("X509_get_ext_d2i")
    encodeKey = try crypto.function("i2d_X509_PUBKEY")
    verify = try crypto.function("X509_verify_cert")
    verifyErrorText = try crypto.function("X509_verify_cert_error_string")
    verificationSetError = try crypto.function("X509_STORE_CTX_set_error")
    verificationCertificate = try crypto.function("X509_STORE_CTX_get0_cert")
    verificationChain = try crypto.function("X509_STORE_CTX_get0_chain")
    verificationData = try crypto.function("X509_STORE_CTX_get_ex_data")
    verificationSessionIndex = try ssl.function("SSL_get_ex_data_X509_STORE_CTX_idx")
    generalName = try crypto.function("GENERAL_NAME_get0_value")
    generalNamesFree = try crypto.function("GENERAL_NAMES_free")
    stringBytes = try crypto.function("ASN1_STRING_get0_data")
    stringCount = try crypto.function("ASN1_STRING_length")
    stackCount = try crypto.function("OPENSSL_sk_num")
    stackValue = try crypto.function("OPENSSL_sk_value")

    readCertificate = try crypto.function("PEM_read_bio_X509")
    readPrivateKey = try crypto.function("PEM_read_bio_PrivateKey")
    keyFree = try crypto.function("EVP_PKEY_free")
    sha256 = try crypto.function("EVP_sha256")
    digest = try crypto.function("EVP_Digest")
    errorPeekLast = try crypto.function("ERR_peek_last_error")
    errorClear = try crypto.function("ERR_clear_error")
    errorReason = try crypto.function("ERR_reason_error_string")
  }
}

extension OpenSSL {
  /// The library, loaded on first use; `insecure` if the system has none.
  static let shared = load(ssl: "libssl.so.3", crypto: "libcrypto.so.3")

  package static func load(ssl: String, crypto: String) -> Result<OpenSSL, RequestError> {
    do throws(DynamicLibraryError) {
      let library = try OpenSSL(ssl: DynamicLibrary(ssl), crypto: DynamicLibrary(crypto))
      _ = library.initialize(Setting.noCleanUpAtExit, nil)
      return .success(library)
    } catch {
      return .failure(
        RequestError(
          .insecure,
          """
          There is no OpenSSL 3 for https (\(error)): install it, with 'apt-get install libssl3', \
          'dnf install openssl-libs' or 'apk add libssl3'.
          """, cause: error))
    }
  }
}

/// Numbers from OpenSSL's headers that its macros use; they are part of its binary interface.
extension OpenSSL {
  /// ssl.h: commands of `SSL_CTX_ctrl` and `SSL_ctrl`.
  enum Control {
    static let mode: CInt = 33
    static let sessionCacheMode: CInt = 44
    static let hostName: CInt = 55
    static let addChainCertificate: CInt = 89
    static let minimumVersion: CInt = 123
  }

  /// bio.h: types, flags and commands of a BIO.
  enum BIO {
    static let sourceSink: CInt = 0x0400
    static let retryRead: CInt = 0x01 | 0x08
    static let anyRetry: CInt = 0x01 | 0x02 | 0x04 | 0x08
    static let flush: CInt = 11
  }

  /// ssl.h: results of `SSL_get_error`.
  enum Outcome {
    static let wantsRead: CInt = 2
    static let closed: CInt = 6
  }

  /// crypto.h, ssl.h and x509v3.h: settings.
  enum Setting {
    /// Without this, OpenSSL frees memory at exit that other threads still use.
    static let noCleanUpAtExit: UInt64 = 0x80000
    static let verifyPeer: CInt = 1
    static let releaseBuffers: CLong = 0x10
    static let cacheForClientOutside: CLong = 0x001 | 0x300
    static let noRenegotiation: UInt64 = 1 << 30
    static let acceptPartialChains: CUnsignedLong = 0x80000
    static let noPartialWildcards: CUnsignedInt = 0x4
    static let neverCheckSubject: CUnsignedInt = 0x20
    static let shutBothWays: CInt = 3
    static let tls13: CInt = 0x0304
    static let subjectAlternativeName: CInt = 85
  }

  /// sslerr.h and pemerr.h: reasons.
  enum Reason {
    static let badExtension: CUnsignedLong = 110
    static let certificateVerifyFailed: CUnsignedLong = 134
    static let unsupportedProtocol: CUnsignedLong = 258
    static let wrongVersionNumber: CUnsignedLong = 267
    static let alertHandshakeFailure: CUnsignedLong = 1040
    static let alertsAboutCertificates: ClosedRange<CUnsignedLong> = 1041...1049
    static let alertProtocolVersion: CUnsignedLong = 1070
    static let alertUnrecognizedName: CUnsignedLong = 1112
    static let alertCertificateRequired: CUnsignedLong = 1116
    static let alertNoApplicationProtocol: CUnsignedLong = 1120
    static let noStartLine: CUnsignedLong = 108
  }

  /// x509_vfy.h: results of a verification.
  enum Verification {
    static let ok: CLong = 0
    static let notYetValid: CLong = 9
    static let expired: CLong = 10
    static let selfSigned: CLong = 18
    static let unknownAuthorities: Set<CLong> = [2, 19, 20, 21, 27]
    static let application: CLong = 50
    static let wrongNames: Set<CLong> = [62, 64]
    static let weak: Set<CLong> = [66, 67, 68]
  }
}

extension OpenSSL {
  /// The code and the text of the last error on this thread; OpenSSL keeps a queue of errors for each thread.
  ///
  /// Call ``errorClear`` before the OpenSSL call, and this right after it has failed.
  func lastReason() -> (code: CUnsignedLong, text: String) {
    let error = errorPeekLast()
    return (error & 0x7F_FFFF, errorReason(error).map { String(cString: $0) } ?? "no reason given (\(error))")
  }
}
