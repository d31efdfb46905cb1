import HTTPClientCore
import SystemBase

/// What client and server agree on about compression (permessage-deflate, RFC 7692).
struct CompressionAgreement: Equatable {
  /// Whether the server's messages may refer to earlier ones.
  var serverKeepsContext: Bool
  /// How far back a message of the client may refer within itself: a power of two, 8 to 15 (section 7.1.2.2).
  var clientWindow = MessageDeflater.largestWindow

  /// The value of `Sec-WebSocket-Extensions` in the upgrade; `nil` if nothing is offered. The client's own messages
  /// never refer to earlier ones (section 7.1.1.2).
  static func offer(_ compression: WebSocketCompression, hasLibrary: Bool = Inflater.isAvailable) -> String? {
    let offer = "permessage-deflate; client_no_context_takeover; client_max_window_bits"
    return switch compression {
    case .perMessage where hasLibrary: "\(offer); server_no_context_takeover"
    case .acrossMessages where hasLibrary: offer
    case .off, .perMessage, .acrossMessages: nil
    }
  }

  struct Refusal: Error, Equatable {
    let reason: String
  }
}

extension CompressionAgreement {
  /// Reads what the server has agreed to; `nil` if it is nothing. Throws why it is not to be accepted (section 5.1).
  init?(accepted value: String?, offered: Bool) throws(Refusal) {
    guard let value, !value.isEmpty else { return nil }
    guard offered else { throw Refusal(reason: "it agrees to an extension that was not offered") }
    let parts = value.split(separator: ";", omittingEmptySubsequences: false).map { $0.lowercased().trimmed }
    guard !value.contains(","), parts[0] == "permessage-deflate" else {
      throw Refusal(reason: "it agrees to another extension than was offered")
    }
    self.init(serverKeepsContext: true)
    var names: Set<Substring> = []
    for part in parts.dropFirst() {
      let (name, value) = part.parameter
      guard names.insert(name).inserted else { throw Refusal(reason: "it says twice: \(name)") }
      switch (name, value) {
      case ("server_no_context_takeover", nil): serverKeepsContext = false
      case ("client_no_context_takeover", nil): break
      // Section 7.1.2.1: a server may limit its own window unasked.
      case ("server_max_window_bits", let bits?) where Self.windows.contains(bits): break
      case ("client_max_window_bits", let bits?) where Self.windows.contains(bits):
        clientWindow = Int(bits) ?? MessageDeflater.largestWindow
      default: throw Refusal(reason: "it agrees to a compression that was not offered: \(part)")
      }
    }
  }
}

extension CompressionAgreement {
  private static let windows: Set<Substring> = ["8", "9", "10", "11", "12", "13", "14", "15"]
}

extension StringProtocol {
  /// A name, and perhaps a value, which may be quoted (RFC 6455, section 9.1).
  fileprivate var parameter: (name: Substring, value: Substring?) {
    guard let sign = firstIndex(of: "=") else { return (Substring(self), nil) }
    var value = self[index(after: sign)...].trimmed
    if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
    return (self[..<sign].trimmed, value)
  }
}

/// Decompresses the messages of a connection (RFC 7692, section 7.2.2), with the system's zlib. Unless messages refer to
/// earlier ones, it takes no memory between them.
///
/// Not thread-safe.
final class MessageInflater {
  private let library: ZLibrary
  private let keepsContext: Bool
  // zlib keeps the address of the stream in its own state, so it must not move.
  private var stream: UnsafeMutablePointer<ZStream>?
  /// Whether nothing has been read since the beginning, or since the end of a last block.
  private var isAtStart = true

  /// How many bytes to pass at a time: they become a thousand times as many at most.
  static let largestInput = 4 << 10
  private static let pieceSize = 16 << 10

  /// `nil` if the system has no zlib; then no compression was offered.
  init?(_ agreement: CompressionAgreement) {
    guard let library = ZLibrary.shared else { return nil }
    self.library = library
    keepsContext = agreement.serverKeepsContext
  }

  deinit {
    end()
  }

  /// Decompresses a piece of a message, and passes on what comes of it in pieces of limited size.
  func inflate(
    _ piece: UnsafeRawBufferPointer, isLast: Bool,
    _ emit: (UnsafeRawBufferPointer) throws(WebSocketViolation) -> Void
  ) throws(WebSocketViolation) {
    let stream = try begin()
    let output = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer { output.deallocate() }
    try inflate(piece, stream, output, emit)
    guard isLast else { return }
    if !isAtStart {
      // What the sender left out (section 7.2.1): an empty block, behind which nothing is open.
      let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
      try tail.withBytes { tail throws(WebSocketViolation) in try inflate(tail, stream, output, emit) }
      guard stream.pointee.isBetweenBlocks else { throw .invalidData("a compressed message is cut inside a block") }
    }
    if !keepsContext { end() }
  }

  private func begin() throws(WebSocketViolation) -> UnsafeMutablePointer<ZStream> {
    if let stream { return stream }
    let stream = UnsafeMutablePointer<ZStream>.allocate(capacity: 1)
    stream.initialize(to: ZStream())
    self.stream = stream
    isAtStart = true
    let size = CInt(MemoryLayout<ZStream>.size)
    guard library.inflateInit2(stream, ZLibrary.rawWindow, library.version(), size) == ZStatus.ok else {
      throw WebSocketViolation(code: .internalError, reason: "zlib cannot begin")
    }
    return stream
  }

  private func end() {
    guard let stream else { return }
    _ = library.inflateEnd(stream)  // does nothing for a stream that was never begun
    stream.deallocate()
    self.stream = nil
  }

  private func inflate(
    _ piece: UnsafeRawBufferPointer, _ stream: UnsafeMutablePointer<ZStream>,
    _ output: UnsafeMutableRawBufferPointer, _ emit: (UnsafeRawBufferPointer) throws(WebSocketViolation) -> Void
  ) throws(WebSocketViolation) {
    stream.pointee.nextIn = piece.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.availableIn = CUnsignedInt(piece.count)
    defer { stream.pointee.nextIn = nil }
    var isOutputPending = false
    while stream.pointee.availableIn > 0 || isOutputPending {
      isAtStart = false
      stream.pointee.nextOut = output.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.availableOut = CUnsignedInt(output.count)
      let status = library.inflate(stream, 0)
      let count = output.count - Int(stream.pointee.availableOut)
      isOutputPending = count == output.count
      switch status {
      case ZStatus.ok: break
      case ZStatus.noProgress where stream.pointee.availableIn == 0: isOutputPending = false
      // A sender may end a block for good, and begin another one (section 7.2.3.5).
      case ZStatus.streamEnd:
        guard library.inflateResetKeep(stream) == ZStatus.ok else { throw .invalidData("zlib cannot continue") }
        isOutputPending = false
        isAtStart = true
      default:
        let reason = stream.pointee.message.map { String(cString: $0) } ?? "zlib's status \(status)"
        throw .invalidData("a message cannot be decompressed: \(reason)")
      }
      if count > 0 { try emit(UnsafeRawBufferPointer(rebasing: output[..<count])) }
    }
  }
}

extension ZStream {
  /// Whether the last block has ended, and the next one has not begun (`inflate` in zlib.h, on `data_type`).
  fileprivate var isBetweenBlocks: Bool { dataType & 0xFF == 128 }
}

/// Compresses messages, each by itself (RFC 7692, section 7.2.1), with the system's zlib. It takes memory only while it
/// works.
enum MessageDeflater {
  /// Smaller messages do not get any smaller.
  static let smallest = 128
  static let largestWindow = 15

  /// The compressed message, which refers back no further than the power of two; `nil` if that is not worth it, or not
  /// possible: zlib has no smaller window than 2 to the 9th.
  static func deflate(_ message: UnsafeRawBufferPointer, window limit: Int = largestWindow) -> [UInt8]? {
    guard message.count >= smallest, message.count <= 1 << 30, limit >= 9, let library = ZLibrary.shared else {
      return nil
    }
    let stream = UnsafeMutablePointer<ZStream>.allocate(capacity: 1)
    stream.initialize(to: ZStream())
    defer { stream.deallocate() }
    // A window as large as the message, since a larger one only takes more memory; from 2 to the 9th to the 15th.
    let window = CInt(min(max(Int.bitWidth - (message.count - 1).leadingZeroBitCount, 9), limit))
    let size = CInt(MemoryLayout<ZStream>.size)
    guard
      library.deflateInit2(stream, 6, 8, -window, max(window - 7, 1), 0, library.version(), size) == ZStatus.ok
    else { return nil }
    defer { _ = library.deflateEnd(stream) }
    let isDone = { stream.pointee.availableIn == 0 && stream.pointee.availableOut > 0 }
    // Whatever would be as large as the message is not worth it.
    let result = [UInt8](unsafeUninitializedCapacity: message.count) { buffer, count in
      stream.pointee.nextIn = message.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.availableIn = CUnsignedInt(message.count)
      stream.pointee.nextOut = buffer.baseAddress
      stream.pointee.availableOut = CUnsignedInt(message.count)
      let status = library.deflate(stream, 2)  // Z_SYNC_FLUSH
      count = status == ZStatus.ok && isDone() ? message.count - Int(stream.pointee.availableOut) : 0
    }
    guard result.suffix(4) == [0x00, 0x00, 0xFF, 0xFF] else { return nil }
    return result.dropLast(4)
  }
}
