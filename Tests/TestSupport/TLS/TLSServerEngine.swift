package import Foundation

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
