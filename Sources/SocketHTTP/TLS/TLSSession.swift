package import HTTPClientCore
import SystemBase

/// The client side of one TLS connection: it takes and returns bytes, and never touches a socket.
///
/// 1. Call ``handshake()``, send the bytes from ``sendOutgoing(_:)``, pass received bytes to ``receive(_:)``, and
///    repeat until the handshake is done.
/// 2. Then call ``write(_:)`` and send, or ``receive(_:)`` and ``read(into:)``. After the handshake, and after each
///    read from the socket, call `read(into:)` until ``ReadResult/needsMore``: received bytes may be waiting inside.
/// 3. At the end call ``close()`` and send. If the socket has ended, call ``receiveEnd()`` and read once more.
///
/// After any call there may be something to send, even if it threw: the reason, for the server. Errors are of the kind
/// `insecure`; after an error, every call throws it again.
///
/// Not thread-safe: calls must not overlap. If different threads write and read, hold one lock across a call and the
/// sending of its output, or records are sent out of order.
package final class TLSSession {
  /// The result of a read.
  package enum ReadResult: Hashable, Sendable {
    /// This many bytes were read, at least one.
    case bytes(Int)
    /// There is nothing to read until more bytes arrive from the socket.
    case needsMore
    /// The server ended the connection (close_notify).
    case closed
    /// The socket ended without a close_notify: data without a length of its own may have been truncated by an
    /// attacker.
    case truncated
  }

  /// Whether the handshake is done and the server is verified.
  package private(set) var isEstablished = false

  /// What is to be spoken, once the handshake is done; `nil` if the server did not choose.
  private(set) var applicationProtocol: ApplicationProtocol?

  /// Whether the server has asked for a client certificate.
  package internal(set) var isIdentityRequested = false

  /// The application protocols that it offers (ALPN, RFC 7301), the preferred first.
  let protocols: [ApplicationProtocol]
  let context: OpenSSLContext
  let host: String
  let origin: String
  let handle: OpenSSL.Handle
  let tickets: TicketStore
  var presentedNames: [String] = []
  var presentedPin: PublicKeyPin?
  private(set) var firstBytes: [UInt8] = []
  private let library: OpenSSL
  private let bio: SessionBIO
  private var hasEnded = false
  private var isClosed = false
  private var failure: RequestError?

  /// Makes a session with a server that must prove to be `host`: a name, or an IP address with or without brackets.
  ///
  /// Throws `insecure`. Takes long if the context has not been prepared.
  package init(
    _ context: TLSContext, host: String, port: Int, offering protocols: [ApplicationProtocol] = [.http1]
  ) throws(RequestError) {
    let name = ServerName(host)
    self.protocols = protocols
    self.context = try context.openSSL()
    self.host = name.text
    library = self.context.library
    tickets = self.context.tickets
    origin = "\(name.text):\(port)"
    library.errorClear()
    guard let handle = library.sessionNew(self.context.handle) else {
      throw RequestError(.insecure, "OpenSSL cannot make a session: \(library.lastReason().text).")
    }
    guard let bio = SessionBIO(for: handle, library) else {
      library.sessionFree(handle)
      throw RequestError(.insecure, "OpenSSL cannot make a buffer: \(library.lastReason().text).")
    }
    library.setConnectState(handle)
    (self.handle, self.bio) = (handle, bio)
    let names = protocols.flatMap { [UInt8($0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
    guard library.sessionSetProtocols(handle, names, CUnsignedInt(names.count)) == 0 else {
      throw RequestError(.insecure, "OpenSSL cannot offer \(offer): \(library.lastReason().text).")
    }
    guard library.setData(handle, 0, Unmanaged.passUnretained(self).toOpaque()) == 1, expect(name) else {
      throw RequestError(.insecure, "'\(host)' is not a name or address that a certificate can be verified for.")
    }
    if let ticket = tickets.take(for: origin) { _ = library.setTicket(handle, ticket.handle) }
  }

  deinit {
    // A session whose connection is cut off could not be resumed, unless OpenSSL believes that it was shut down.
    if failure == nil { library.setShutdown(handle, OpenSSL.Setting.shutBothWays) }
    library.sessionFree(handle)
  }

  /// Makes OpenSSL verify the server's name, and send it to the server unless it is an address (RFC 6066, section 3).
  private func expect(_ name: ServerName) -> Bool {
    // An empty name would not be verified at all, and one with a NUL would be cut there and verified as another one.
    guard !name.text.isEmpty, !name.text.utf8.contains(0) else { return false }
    if name.isAddress {
      return library.parametersSetAddress(library.parameters(handle), name.text) == 1
    }
    // RFC 9110, section 4.3.4: the common name of the certificate's subject is ignored.
    library.setHostFlags(handle, OpenSSL.Setting.noPartialWildcards | OpenSSL.Setting.neverCheckSubject)
    return library.setHost(handle, name.text) == 1
      && name.text.withCString {
        library.sessionControl(handle, OpenSSL.Control.hostName, 0, UnsafeMutableRawPointer(mutating: $0)) == 1
      }
  }

  /// Continues the handshake; returns `true` once it is done, and in all later calls.
  package func handshake() throws(RequestError) -> Bool {
    if let failure { throw failure }
    if isEstablished { return true }
    library.errorClear()
    let status = library.handshake(handle)
    guard status == 1 else {
      let isWaiting = library.error(handle, status) == OpenSSL.Outcome.wantsRead
      if isWaiting && !hasEnded { return false }
      throw fail(isWaiting ? endInHandshake() : handshakeFailure())
    }
    // Checked a second time, in case a way around the verification is ever found.
    guard library.verifyResult(handle) == OpenSSL.Verification.ok else { throw fail(verificationFailure()) }
    let selected = selectedProtocol
    applicationProtocol = protocols.first { $0.rawValue == selected }
    guard applicationProtocol != nil || selected.isEmpty else {
      throw fail(error("'\(selected)' was chosen by ALPN", hint: protocolHint))
    }
    isEstablished = true
    return true
  }

  /// Takes bytes that were read from the socket.
  package func receive(_ bytes: UnsafeRawBufferPointer) {
    if firstBytes.count < 5 { firstBytes += bytes.prefix(5 - firstBytes.count) }
    guard !bio.incoming.append(bytes) else { return }
    _ = fail(RequestError(.insecure, "There is no memory left for what '\(host)' has sent."))
  }

  /// Records that the socket has ended.
  package func receiveEnd() {
    hasEnded = true
  }

  /// How many records are read at a time: some have a single byte, and each takes about a microsecond.
  private static let mostRecords = 64

  /// Reads decrypted bytes, as many as are available in a number of records, and fit into the buffer, which must not be
  /// empty.
  ///
  /// An end or an error after these bytes is reported by the next call.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> ReadResult {
    precondition(!buffer.isEmpty, "there must be room to read into")
    var count = 0
    for _ in 0..<Self.mostRecords where count < buffer.count {
      do throws(RequestError) {
        let result = try readRecord(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
        guard case .bytes(let part) = result else {
          if count == 0 { return result }
          break
        }
        count += part
      } catch {
        if count == 0 { throw error }
        break
      }
    }
    return .bytes(count)
  }

  /// Reads decrypted bytes, as many as the next record has and fit into the buffer.
  private func readRecord(into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> ReadResult {
    guard try handshake() else { return .needsMore }
    if isClosed { return .closed }
    // Calling OpenSSL when nothing can be there is more expensive than this check.
    if bio.incoming.isEmpty, library.hasPending(handle) == 0 { return hasEnded ? .truncated : .needsMore }
    library.errorClear()
    var count = 0
    let status = library.read(handle, buffer.baseAddress, buffer.count, &count)
    if status == 1 { return .bytes(count) }
    switch library.error(handle, status) {
    case OpenSSL.Outcome.wantsRead: return hasEnded ? .truncated : .needsMore
    case OpenSSL.Outcome.closed:
      isClosed = true
      return .closed
    default: throw fail(failureAfterHandshake())
    }
  }

  /// Encrypts all of these bytes for sending. Split large data, and send each part before writing the next.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    guard try handshake() else {
      throw RequestError(.insecure, "Nothing can be sent to '\(host)' before the handshake is done.")
    }
    if bytes.isEmpty { return }
    library.errorClear()
    var count = 0
    guard library.write(handle, bytes.baseAddress, bytes.count, &count) == 1, count == bytes.count else {
      throw fail(failureAfterHandshake())
    }
  }

  /// Tells the server that nothing more will be sent (close_notify).
  package func close() {
    guard isEstablished, failure == nil else { return }
    library.errorClear()
    _ = library.shutdown(handle)
  }

  /// How many bytes are waiting to be sent.
  package var outgoingCount: Int { bio.outgoing.count }

  /// Calls a closure with the bytes that are waiting to be sent, if any; it returns how many of them it has sent.
  package func sendOutgoing(_ send: (UnsafeRawBufferPointer) -> Int) {
    if !bio.outgoing.isEmpty { bio.outgoing.removeFirst(send(bio.outgoing.bytes)) }
  }

  func fail(_ error: RequestError) -> RequestError {
    failure = failure ?? error
    return error
  }
}

/// The results of the handshake.
extension TLSSession {
  /// The version of the protocol, such as `TLSv1.3`.
  package var version: String {
    context.library.version(handle).map { String(cString: $0) } ?? "unknown"
  }

  /// Whether an earlier session was resumed.
  package var isResumed: Bool {
    context.library.isReused(handle) == 1
  }

  /// The name of the application protocol (ALPN, RFC 7301); empty if the server did not choose one.
  fileprivate var selectedProtocol: String {
    var start: UnsafePointer<UInt8>?
    var count: CUnsignedInt = 0
    context.library.selectedProtocol(handle, &start, &count)
    return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
}

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
  static let recordCertificateRequest: OpenSSL.CertificateCallback = { handle, _ in
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
    // Newer versions of OpenSSL do not even say what was chosen.
    case OpenSSL.Reason.badExtension:
      protocolHint
    case OpenSSL.Reason.alertNoApplicationProtocol:
      "it speaks no protocol that was offered: \(offer)."
    case OpenSSL.Reason.alertUnrecognizedName:
      "it has no host of this name."
    case OpenSSL.Reason.alertHandshakeFailure, OpenSSL.Reason.alertCertificateRequired,
      OpenSSL.Reason.alertsAboutCertificates:
      identityHint
    default: nil
    }
  }

  fileprivate var protocolHint: String { "it chose a protocol that was not offered: \(offer) was." }

  private var offer: String { protocols.map { "'\($0.rawValue)'" }.joined(separator: ", ") }

  private var identityHint: String? {
    guard isIdentityRequested else { return nil }
    return context.hasIdentity
      ? "it does not accept this client's certificate." : "it asks for a client certificate, and none is set."
  }

  fileprivate func error(_ text: String, hint: String?) -> RequestError {
    RequestError(.insecure, "No secure connection to '\(host)': \(text)\(hint.map { ": \($0)" } ?? ".")")
  }
}

/// The name that a server's certificate must be for: a host name or an IP address.
struct ServerName {
  /// In lower case, without brackets, without the zone of an address, and without the dot at the end of a name.
  let text: String

  /// Whether it is an IP address (IPv4 with four numbers, or IPv6).
  let isAddress: Bool

  init(_ host: String) {
    let lowercased = host.lowercased()
    let isBracketed = lowercased.hasPrefix("[") && lowercased.hasSuffix("]")
    let bare = isBracketed ? String(lowercased.dropFirst().dropLast()) : lowercased
    let unzoned = bare.contains(":") ? String(bare.prefix { $0 != "%" }) : bare
    var address = in6_addr()
    if inet_pton(AF_INET, unzoned, &address) == 1 || inet_pton(AF_INET6, unzoned, &address) == 1 {
      (text, isAddress) = (unzoned, true)
    } else {
      (text, isAddress) = (bare.hasSuffix(".") ? String(bare.dropLast()) : bare, false)
    }
  }
}
