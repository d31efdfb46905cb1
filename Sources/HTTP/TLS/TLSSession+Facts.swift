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

  /// The application protocol (ALPN, RFC 7301); empty if the server did not choose one.
  var selectedProtocol: String {
    var start: UnsafePointer<UInt8>?
    var count: CUnsignedInt = 0
    context.library.selectedProtocol(handle, &start, &count)
    return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
}
