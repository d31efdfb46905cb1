import Foundation

/// OpenSSL's callbacks. They are called only during a call to the session that they are about, on the same thread.
extension TLSSession {
  /// Verifies the chain and then the pins, before the client sends its own certificate.
  static let verify: OpenSSL.VerifyCallback = { verification, argument in
    guard let verification, let argument else { return 0 }
    let context = Unmanaged<OpenSSLContext>.fromOpaque(argument).takeUnretainedValue()
    let library = context.library
    let index = library.verificationSessionIndex()
    let session = TLSSession.of(library.verificationData(verification, index).map { OpaquePointer($0) }, library)
    if library.verify(verification) == 1 {
      let chain = library.verificationChain(verification)
      let pins = (0..<max(library.stackCount(chain), 0)).compactMap { context.pin(of: library.stackValue(chain, $0)) }
      if context.pins.isEmpty || !context.pins.isDisjoint(with: pins) { return 1 }
      session?.presentedPin = pins.first
      library.verificationSetError(verification, CInt(OpenSSL.Verification.application))
    } else if let certificate = library.verificationCertificate(verification) {
      session?.presentedNames = context.names(of: certificate)
    }
    return 0
  }

  /// Records that the server has asked for a certificate, which OpenSSL then looks for.
  static let noteCertificateRequest: OpenSSL.CertificateCallback = { handle, _ in
    if let library = try? OpenSSL.shared.get() { TLSSession.of(handle, library)?.isIdentityRequested = true }
    return 1
  }

  /// Stores a ticket to resume the session with; if this returns 1, OpenSSL hands over its reference.
  static let keepTicket: OpenSSL.NewSessionCallback = { handle, ticket in
    guard let ticket, let library = try? OpenSSL.shared.get(), library.ticketIsResumable(ticket) == 1,
      let session = TLSSession.of(handle, library)
    else { return 0 }
    session.tickets.add(SessionTicket(ticket, library: library), for: session.origin)
    return 1
  }

  private static func of(_ handle: OpenSSL.Handle?, _ library: OpenSSL) -> TLSSession? {
    handle.flatMap { library.data($0, 0) }.map { Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
  }
}

extension OpenSSLContext {
  /// The pin of a certificate's key.
  fileprivate func pin(of certificate: OpenSSL.Handle?) -> PublicKeyPin? {
    guard let certificate, let key = library.certificateKey(certificate) else { return nil }
    let count = Int(library.encodeKey(key, nil))
    guard count > 0 else { return nil }
    var encoded = [UInt8](repeating: 0, count: count)
    var hash = [UInt8](repeating: 0, count: 32)
    let isHashed = encoded.withUnsafeMutableBufferPointer { bytes in
      var target = bytes.baseAddress
      return library.encodeKey(key, &target) == count
        && library.digest(bytes.baseAddress, count, &hash, nil, library.sha256(), nil) == 1
    }
    return isHashed ? PublicKeyPin(sha256: Data(hash)) : nil
  }

  /// The names and addresses that a certificate is for, at most 8.
  fileprivate func names(of certificate: OpenSSL.Handle) -> [String] {
    let extensionID = OpenSSL.Setting.subjectAlternativeName
    guard let names = library.certificateExtension(certificate, extensionID, nil, nil) else { return [] }
    defer { library.generalNamesFree(names) }
    return (0..<min(max(library.stackCount(names), 0), 8)).compactMap { index in
      var type: CInt = 0
      guard let value = library.generalName(library.stackValue(names, index), &type), type == 2 || type == 7,
        let start = library.stringBytes(value)
      else { return nil }
      let bytes = UnsafeBufferPointer(start: start, count: Int(library.stringCount(value)))
      return type == 2 ? String(decoding: bytes, as: UTF8.self) : address(bytes)
    }
  }

  private func address(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
    let groups = stride(from: 0, to: bytes.count - 1, by: 2).map { Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]) }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }
}
