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
    static let certificateVerifyFailed: CUnsignedLong = 134
    static let unsupportedProtocol: CUnsignedLong = 258
    static let wrongVersionNumber: CUnsignedLong = 267
    static let alertHandshakeFailure: CUnsignedLong = 1040
    static let alertsAboutCertificates: ClosedRange<CUnsignedLong> = 1041...1049
    static let alertProtocolVersion: CUnsignedLong = 1070
    static let alertUnrecognizedName: CUnsignedLong = 1112
    static let alertCertificateRequired: CUnsignedLong = 1116
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
