/// What was agreed on in the handshake.
extension TLSSession {
  /// The protocol's name, such as `TLSv1.3`.
  package var version: String {
    context.library.version(handle).map { String(cString: $0) } ?? "unknown"
  }

  /// Whether a session from before was resumed.
  package var isResumed: Bool {
    context.library.isReused(handle) == 1
  }

  /// The application's protocol (RFC 7301); empty where the server did not choose one.
  var selectedProtocol: String {
    var start: UnsafePointer<UInt8>?
    var count: CUnsignedInt = 0
    context.library.selectedProtocol(handle, &start, &count)
    return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
}
