/// The client's side of one TLS connection: a machine that takes and gives bytes, and never touches a socket.
///
/// 1. Call ``handshake()``, send what ``sendOutgoing(_:)`` gives, hand over what comes with ``receive(_:)``, and repeat
///    until it is done.
/// 2. Then ``write(_:)`` and send, ``receive(_:)`` and ``read(into:)``. After the handshake, and after each reading from
///    the socket, read until ``ReadResult/needsMore``: bytes that have come wait inside.
/// 3. At the end ``close()`` and send. Where the socket ended, call ``receiveEnd()`` and read once more.
///
/// After any call there may be something to send, also after one that threw: the server is told why. Errors are
/// `insecure`; after one every call throws it again.
///
/// Not for two threads at once, but for one after another: whoever writes and reads on different threads holds one lock
/// over a call and the sending of what it made, or records arrive out of order.
package final class TLSSession {
  /// What reading came to.
  package enum ReadResult: Hashable, Sendable {
    /// That many bytes, at least one.
    case bytes(Int)
    /// Nothing, until more has come from the socket.
    case needsMore
    /// The server said that this is the end.
    case closed
    /// The socket ended without the server's word: whatever has no length of its own may have been cut by somebody.
    case truncated
  }

  /// Whether the handshake is done, and the server verified.
  package private(set) var isEstablished = false

  /// Whether the server has asked who the client is.
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
  /// Throws `insecure`; takes long if the context is not prepared.
  package init(_ context: TLSContext, host: String, port: Int) throws(RequestError) {
    let name = ServerName(host)
    self.context = try context.openSSL()
    self.host = name.text
    library = self.context.library
    tickets = context.tickets
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
      throw RequestError(.insecure, "'\(host)' is no name or address that a certificate could be verified for.")
    }
    if let ticket = tickets.take(for: origin) { _ = library.setTicket(handle, ticket.handle) }
  }

  deinit {
    // A session that is cut off could not be resumed, unless OpenSSL believes that it was shut down.
    if failure == nil { library.setShutdown(handle, OpenSSL.Setting.shutBothWays) }
    library.sessionFree(handle)
  }

  /// Makes OpenSSL verify the server's name, and tell it to the server (RFC 6066, section 3: not an address).
  private func expect(_ name: ServerName) -> Bool {
    // An empty name, or one cut at a NUL, would be verified as no name or another one.
    guard !name.text.isEmpty, !name.text.utf8.contains(0) else { return false }
    if name.isAddress {
      return library.parametersSetAddress(library.parameters(handle), name.text) == 1
    }
    // RFC 9110, section 4.3.4: the common name of a certificate's subject is not looked at.
    library.setHostFlags(handle, OpenSSL.Setting.noPartialWildcards | OpenSSL.Setting.neverCheckSubject)
    return library.setHost(handle, name.text) == 1
      && name.text.withCString {
        library.sessionControl(handle, OpenSSL.Control.hostName, 0, UnsafeMutableRawPointer(mutating: $0)) == 1
      }
  }

  /// Goes on with the handshake; `true` once it is done, which later calls say again.
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
    // Asked a second time, in case a way around the verification is ever found.
    guard library.verifyResult(handle) == OpenSSL.Verification.ok else { throw fail(verificationFailure()) }
    guard ["", "http/1.1"].contains(selectedProtocol) else {
      throw fail(RequestError(.insecure, "'\(host)' chose a protocol that was not offered: '\(selectedProtocol)'."))
    }
    isEstablished = true
    return true
  }

  /// Takes in what has come from the socket.
  package func receive(_ bytes: UnsafeRawBufferPointer) {
    if firstBytes.count < 5 { firstBytes += bytes.prefix(5 - firstBytes.count) }
    guard !bio.incoming.append(bytes) else { return }
    _ = fail(RequestError(.insecure, "There is no memory left for what '\(host)' has sent."))
  }

  /// Takes note that the socket has ended.
  package func receiveEnd() {
    hasEnded = true
  }

  /// Gives decoded bytes, as many as have come and there is room for; the buffer may not be empty.
  ///
  /// What comes after them, an end or an error, is told by the next call.
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

  /// Gives decoded bytes, as many as there are in the next record and room for.
  private func readRecord(into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> ReadResult {
    guard try handshake() else { return .needsMore }
    if isClosed { return .closed }
    // Asking OpenSSL for what cannot be there costs more.
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

  /// Encodes bytes to be sent, all of them: give large ones in parts, and send each part first.
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

  /// Tells the server that nothing more comes (close_notify).
  package func close() {
    guard isEstablished, failure == nil else { return }
    library.errorClear()
    _ = library.shutdown(handle)
  }

  /// How many bytes wait to be sent.
  package var outgoingCount: Int { bio.outgoing.count }

  /// Calls a closure with the bytes that wait to be sent, if any; it gives how many of them it has sent.
  package func sendOutgoing(_ send: (UnsafeRawBufferPointer) -> Int) {
    if !bio.outgoing.isEmpty { bio.outgoing.removeFirst(send(bio.outgoing.bytes)) }
  }

  func fail(_ error: RequestError) -> RequestError {
    failure = failure ?? error
    return error
  }
}
