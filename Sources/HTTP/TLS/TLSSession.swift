/// The client side of one TLS connection: it takes and returns bytes, and never touches a socket.
///
/// 1. Call ``handshake()``, send the bytes from ``sendOutgoing(_:)``, pass received bytes to ``receive(_:)``, and
///    repeat until the handshake is done.
/// 2. Then call ``write(_:)`` and send, or ``receive(_:)`` and ``read(into:)``. After the handshake, and after each
///    read from the socket, call `read(into:)` until ``ReadResult/needsMore``: received bytes may be waiting inside.
/// 3. At the end call ``close()`` and send. If the socket has ended, call ``receiveEnd()`` and read once more.
///
/// After any call there may be something to send, even if it threw: the server is told the reason. Errors are of the
/// kind `insecure`; after an error, every call throws it again.
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

  /// Whether the server has asked for a client certificate.
  package internal(set) var isIdentityRequested = false

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
  package init(_ context: TLSContext, host: String, port: Int) throws(RequestError) {
    let name = ServerName(host)
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
    guard ["", "http/1.1"].contains(selectedProtocol) else {
      throw fail(RequestError(.insecure, "'\(host)' chose a protocol that was not offered: '\(selectedProtocol)'."))
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

  /// Reads decrypted bytes, as many as are available and fit into the buffer, which must not be empty.
  ///
  /// An end or an error after these bytes is reported by the next call.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> ReadResult {
    precondition(!buffer.isEmpty, "there must be room to read into")
    var count = 0
    while count < buffer.count {
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
