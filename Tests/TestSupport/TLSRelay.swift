package import Foundation
import Glibc
package import LoopbackServers
import Synchronization

/// Speaks TLS with clients, and passes what they say to a server that does not: any script can be played over TLS.
///
/// Where that server ends, the client is told so (close_notify), unless the relay is set to be rude; a handshake that
/// fails ends the connection.
package final class TLSRelay: Sendable {
  package let port: UInt16

  /// Of each connection whose handshake is done, whether it resumed a session.
  package let resumptions = Monitor<[Bool]>([])

  /// How many connections the relay has closed: their clients can know of it.
  package let closed = Monitor<Int>(0)

  /// What clients asked for a tunnel with, where the relay plays a proxy.
  package let tunnelRequests = Monitor<[String]>([])

  private let listener: Descriptor

  /// - Parameters:
  ///   - isRude: Whether the relay leaves the close_notify out, as somebody would who cuts the connection.
  ///   - tunnelAnswer: What a proxy in front of the server says when it is asked for a tunnel; without it there is
  ///     none.
  package init(
    to server: UInt16, _ context: TLSServerContext, isRude: Bool = false, tunnelAnswer: String? = nil
  ) throws {
    (listener, port) = try Loopback.listen(backlog: 512)
    Thread.detachNewThread { [listener, resumptions, closed, tunnelRequests] in
      while true {
        let number = uninterrupted { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        let client = Descriptor(number)
        Thread.detachNewThread {
          if let tunnelAnswer {
            let head = client.receiveHead()
            tunnelRequests.update { $0.append(head) }
            _ = client.send([UInt8](tunnelAnswer.utf8)[...])
          }
          if let upstream = try? Loopback.connect(port: server), let engine = try? TLSServerEngine(context) {
            let connection = RelayedConnection(client: client, upstream: upstream, engine: engine, isRude: isRude)
            connection.run { isResumed in resumptions.update { $0.append(isResumed) } }
            upstream.close()
          }
          client.close()
          closed.update { $0 += 1 }
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  package func url(host: String = "127.0.0.1") -> URL {
    guard let url = URL(string: "https://\(host):\(port)/") else { preconditionFailure("A port makes a valid URL.") }
    return url
  }
}

/// One connection of a relay, used by its thread alone.
private struct RelayedConnection {
  let client: Descriptor
  let upstream: Descriptor
  let engine: TLSServerEngine
  let isRude: Bool

  func run(_ whenEstablished: (_ isResumed: Bool) -> Void) {
    defer { sendOutgoing() }
    guard (try? shakeHands()) == true, let isResumed = try? engine.isResumed else { return }
    whenEstablished(isResumed)
    while true {
      var entries = [
        pollfd(fd: client.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: upstream.number, events: Int16(POLLIN), revents: 0),
      ]
      guard uninterrupted({ poll(&entries, 2, -1) }) > 0 else { return }
      if entries[0].revents != 0 {
        let bytes = client.receive()
        guard !bytes.isEmpty, (try? passOn(bytes)) != nil else { return }
      }
      if entries[1].revents != 0 {
        let bytes = upstream.receive()
        guard !bytes.isEmpty else {
          if !isRude { try? engine.close() }
          return
        }
        guard (try? engine.write(Data(bytes))) != nil, sendOutgoing() else { return }
      }
    }
  }

  private func shakeHands() throws -> Bool {
    while try !engine.handshake() {
      sendOutgoing()
      let bytes = client.receive()
      guard !bytes.isEmpty else { return false }
      try engine.receive(Data(bytes))
    }
    return sendOutgoing() && flushPlain()
  }

  private func passOn(_ bytes: [UInt8]) throws {
    try engine.receive(Data(bytes))
    _ = flushPlain()
    sendOutgoing()
  }

  /// What came with the handshake's last bytes.
  private func flushPlain() -> Bool {
    while let data = try? engine.read() {
      guard !data.isEmpty else { return false }
      guard upstream.send([UInt8](data)[...]) else { return false }
    }
    return true
  }

  @discardableResult
  private func sendOutgoing() -> Bool {
    guard let data = try? engine.takeOutgoing() else { return false }
    return data.isEmpty || client.send([UInt8](data)[...])
  }
}

extension Descriptor {
  /// Reads a head and not a byte more.
  fileprivate func receiveHead() -> String {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let byte = receive(upTo: 1)
      guard !byte.isEmpty else { break }
      head += byte
    }
    return String(decoding: head, as: UTF8.self)
  }
}

/// The server's side of one TLS connection, in memory: whoever has it carries the bytes.
///
/// Not for two threads at once.
package final class TLSServerEngine {
  private let context: TLSServerContext
  private let handle: Handle
  private let incoming: Handle
  private let outgoing: Handle

  package init(_ context: TLSServerContext) throws {
    self.context = context
    handle = try part("SSL_new", of: context.handle)
    incoming = try part("BIO_new", of: make("BIO_s_mem"))
    outgoing = try part("BIO_new", of: make("BIO_s_mem"))
    let setBIOs: @convention(c) (Handle?, Handle?, Handle?) -> Void = try openSSL("SSL_set_bio")
    setBIOs(handle, incoming, outgoing)
    let accept: @convention(c) (Handle?) -> Void = try openSSL("SSL_set_accept_state")
    accept(handle)
  }

  deinit {
    free("SSL_free", handle)
  }

  /// Takes in what the client has sent.
  package func receive(_ data: Data) throws {
    let write: @convention(c) (Handle?, UnsafeRawPointer?, CInt) -> CInt = try openSSL("BIO_write")
    data.withUnsafeBytes { _ = write(incoming, $0.baseAddress, CInt($0.count)) }
  }

  /// What is to be sent to the client.
  package func takeOutgoing() throws -> Data {
    let read: @convention(c) (Handle?, UnsafeMutableRawPointer?, CInt) -> CInt = try openSSL("BIO_read")
    var result = Data()
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = read(outgoing, &buffer, CInt(buffer.count))
      guard count > 0 else { return result }
      result += buffer.prefix(Int(count))
    }
  }

  /// Whether the handshake is done; throws where it failed.
  package func handshake() throws -> Bool {
    let handshake: @convention(c) (Handle?) -> CInt = try openSSL("SSL_do_handshake")
    try clearErrors()
    return try isDone("SSL_do_handshake", handshake(handle))
  }

  /// The next bytes from the client: `nil` where more must come, empty at its close_notify.
  package func read() throws -> Data? {
    let read: @convention(c) (Handle?, UnsafeMutableRawPointer?, CInt) -> CInt = try openSSL("SSL_read")
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    try clearErrors()
    let count = read(handle, &buffer, CInt(buffer.count))
    return try isDone("SSL_read", count) ? Data(buffer.prefix(Int(max(count, 0)))) : nil
  }

  package func write(_ data: Data) throws {
    let write: @convention(c) (Handle?, UnsafeRawPointer?, CInt) -> CInt = try openSSL("SSL_write")
    try clearErrors()
    _ = try data.withUnsafeBytes { try isDone("SSL_write", write(handle, $0.baseAddress, CInt($0.count))) }
  }

  /// Says that its keys change, and asks for the same (RFC 8446, section 4.6.3).
  package func updateKeys() throws {
    let update: @convention(c) (Handle?, CInt) -> CInt = try openSSL("SSL_key_update")
    _ = update(handle, 1)  // SSL_KEY_UPDATE_REQUESTED
    _ = try handshake()
  }

  /// Says that nothing more comes (close_notify).
  package func close() throws {
    let shutdown: @convention(c) (Handle?) -> CInt = try openSSL("SSL_shutdown")
    try clearErrors()
    _ = shutdown(handle)
  }

  /// Whether the client's session was resumed.
  package var isResumed: Bool {
    get throws {
      let isReused: @convention(c) (Handle?) -> CInt = try openSSL("SSL_session_reused")
      return isReused(handle) == 1
    }
  }

  /// The host name that the client asked for.
  package var requestedName: String? {
    get throws {
      let name: @convention(c) (Handle?, CInt) -> UnsafePointer<CChar>? = try openSSL("SSL_get_servername")
      return name(handle, 0).map { String(cString: $0) }
    }
  }

  private func clearErrors() throws {
    let clear: @convention(c) () -> Void = try openSSL("ERR_clear_error")
    clear()
  }

  private func isDone(_ name: String, _ status: CInt) throws -> Bool {
    if status > 0 { return true }
    let outcome: @convention(c) (Handle?, CInt) -> CInt = try openSSL("SSL_get_error")
    switch outcome(handle, status) {
    case 2: return false  // SSL_ERROR_WANT_READ
    case 6: return true  // SSL_ERROR_ZERO_RETURN
    default:
      let last: @convention(c) () -> CUnsignedLong = try openSSL("ERR_peek_last_error")
      let reason: @convention(c) (CUnsignedLong) -> UnsafePointer<CChar>? = try openSSL("ERR_reason_error_string")
      throw OpenSSLFailure(description: "\(name): \(reason(last()).map { String(cString: $0) } ?? "no reason")")
    }
  }
}

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

/// What a test asks of OpenSSL failed.
package struct OpenSSLFailure: Error, CustomStringConvertible {
  package let description: String
}

/// A function of the system's OpenSSL by its name; the caller answers for the type, a `@convention(c)` one.
func openSSL<Function>(_ name: String, as type: Function.Type = Function.self) throws -> Function {
  for library in ["libssl.so.3", "libcrypto.so.3"] {
    if let handle = dlopen(library, RTLD_NOW), let address = dlsym(handle, name) {
      return unsafeBitCast(address, to: type)
    }
  }
  throw OpenSSLFailure(description: "OpenSSL has no \(name)")
}

typealias Handle = OpaquePointer

/// Calls with a handle or two and no more, which are most of them.
func make(_ name: String) throws -> Handle {
  try made(name, openSSL(name, as: (@convention(c) () -> Handle?).self)())
}

func made(_ name: String, _ handle: Handle?) throws -> Handle {
  guard let handle else { throw OpenSSLFailure(description: "\(name) gave nothing") }
  return handle
}

func check(_ name: String, _ status: CInt) throws {
  guard status > 0 else { throw OpenSSLFailure(description: "\(name) gave \(status)") }
}

func call(_ name: String, _ first: Handle, _ second: Handle) throws {
  try check(name, openSSL(name, as: (@convention(c) (Handle?, Handle?) -> CInt).self)(first, second))
}

func part(_ name: String, of handle: Handle) throws -> Handle {
  try made(name, openSSL(name, as: (@convention(c) (Handle?) -> Handle?).self)(handle))
}

func free(_ name: String, _ handle: Handle) {
  let function = try? openSSL(name, as: (@convention(c) (Handle?) -> Void).self)
  function?(handle)
}

/// What a function writes into a BIO.
func written(_ write: (Handle) throws -> Void) throws -> Data {
  let bio = try made("BIO_new", openSSL("BIO_new", as: (@convention(c) (Handle?) -> Handle?).self)(make("BIO_s_mem")))
  defer { free("BIO_free", bio) }
  try write(bio)
  let read: @convention(c) (Handle?, UnsafeMutableRawPointer?, CInt) -> CInt = try openSSL("BIO_read")
  var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  let count = read(bio, &buffer, CInt(buffer.count))
  return Data(buffer.prefix(Int(max(count, 0))))
}

/// Runs a closure with a BIO that reads these bytes.
func withBIO<Result>(over bytes: Data, _ body: (Handle) throws -> Result) throws -> Result {
  let new: @convention(c) (UnsafeRawPointer?, CInt) -> Handle? = try openSSL("BIO_new_mem_buf")
  return try bytes.withUnsafeBytes { bytes in
    let bio = try made("BIO_new_mem_buf", new(bytes.baseAddress, CInt(bytes.count)))
    defer { free("BIO_free", bio) }
    return try body(bio)
  }
}
