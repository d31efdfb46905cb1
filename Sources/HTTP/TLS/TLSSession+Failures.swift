/// Errors with messages that say what to do. To be called right after the OpenSSL call that failed, on the same thread.
extension TLSSession {
  /// The error of a failed handshake.
  func handshakeFailure() -> RequestError {
    let (code, text) = context.library.lastReason()
    if code == OpenSSL.Reason.certificateVerifyFailed { return verificationFailure() }
    return error(text, hint: hint(code))
  }

  /// The error for a socket that ended during the handshake.
  func endInHandshake() -> RequestError {
    let hint =
      firstBytes.isEmpty
      ? "it may speak no TLS at this port, or have no host of this name." : identityHint ?? "try again."
    return error("the connection ended in the handshake", hint: hint)
  }

  /// The error of a failed read or write. With TLS 1.3, this is how a server rejects a client certificate.
  func failureAfterHandshake() -> RequestError {
    let (code, text) = context.library.lastReason()
    return error(text, hint: hint(code))
  }

  /// The error for a server that could not be verified.
  func verificationFailure() -> RequestError {
    let library = context.library
    let result = library.verifyResult(handle)
    let text = library.verifyErrorText(result).map { String(cString: $0) } ?? "verification failed (\(result))"
    let names = presentedNames.isEmpty ? "no name at all" : presentedNames.joined(separator: ", ")
    return switch result {
    case OpenSSL.Verification.application:
      error("none of its keys is pinned", hint: "its own is \(presentedPin?.description ?? "unknown").")
    case OpenSSL.Verification.expired:
      error(text, hint: "it must be renewed, unless this machine's clock is wrong.")
    case OpenSSL.Verification.notYetValid:
      error(text, hint: "is this machine's clock right?")
    case OpenSSL.Verification.selfSigned:
      error(text, hint: "if it is the right one, trust that certificate.")
    case let result where OpenSSL.Verification.unknownAuthorities.contains(result):
      error(
        text,
        hint: """
          trust the authority that signed it, install the system's (ca-certificates), \
          or have the server send its intermediate certificates.
          """)
    case let result where OpenSSL.Verification.wrongNames.contains(result):
      error(text, hint: "the certificate is for \(names).")
    case let result where OpenSSL.Verification.weak.contains(result):
      error(text, hint: "the server needs a stronger certificate.")
    default:
      error(text, hint: nil)
    }
  }

  private func hint(_ code: CUnsignedLong) -> String? {
    switch code {
    case OpenSSL.Reason.wrongVersionNumber where firstBytes == Array("HTTP/".utf8):
      "it speaks plain HTTP at this port: use the port for https."
    case OpenSSL.Reason.wrongVersionNumber:
      "it may speak no TLS at this port."
    case OpenSSL.Reason.unsupportedProtocol, OpenSSL.Reason.alertProtocolVersion:
      "it speaks no version of TLS that is still secure, or none that is allowed here."
    case OpenSSL.Reason.alertUnrecognizedName:
      "it has no host of this name."
    case OpenSSL.Reason.alertHandshakeFailure, OpenSSL.Reason.alertCertificateRequired,
      OpenSSL.Reason.alertsAboutCertificates:
      identityHint
    default: nil
    }
  }

  private var identityHint: String? {
    guard isIdentityRequested else { return nil }
    return context.hasIdentity
      ? "it does not accept this client's certificate." : "it asks for a client certificate, and none is set."
  }

  private func error(_ text: String, hint: String?) -> RequestError {
    RequestError(.insecure, "No secure connection to '\(host)': \(text)\(hint.map { ": \($0)" } ?? ".")")
  }
}
