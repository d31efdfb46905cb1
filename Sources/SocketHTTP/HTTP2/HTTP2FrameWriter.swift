/// The settings of a connection (RFC 9113, section 6.5.2).
enum HTTP2Setting {
  static let headerTableSize: UInt16 = 1
  static let enablePush: UInt16 = 2
  static let maximumConcurrentStreams: UInt16 = 3
  static let initialWindowSize: UInt16 = 4
  static let maximumFrameSize: UInt16 = 5
  static let maximumHeaderListSize: UInt16 = 6
  /// RFC 8441, section 3.
  static let enableConnectProtocol: UInt16 = 8
}

/// Writes the frames of a client (RFC 9113, section 6), one behind the other, into memory that many share.
struct HTTP2FrameWriter: ~Copyable {
  /// A connection that many share is rarely idle, and there are few of them.
  private var queue = ByteQueue(keeping: 256 << 10)
  /// How many bytes have been taken.
  private(set) var takenCount = 0
  /// Whether there was no memory for a frame: then nothing that follows it would be understood.
  private(set) var hasFailed = false

  var count: Int { queue.count }

  /// How many bytes were written, with those that have been taken.
  var writtenCount: Int { takenCount + queue.count }

  /// The bytes that are to be sent; valid until this is changed.
  var bytes: UnsafeRawBufferPointer { hasFailed ? UnsafeRawBufferPointer(start: nil, count: 0) : queue.bytes }

  /// Records that so many bytes were taken.
  mutating func removeFirst(_ count: Int) {
    takenCount += min(max(count, 0), queue.count)
    queue.removeFirst(count)
  }

  /// What begins a connection (section 3.4), before anything else.
  mutating func writePreface() {
    let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    preface.withUTF8Buffer { write(UnsafeRawBufferPointer($0)) }
  }

  mutating func writeSettings(_ settings: [(identifier: UInt16, value: UInt32)]) {
    writeHead(HTTP2FrameType.settings, length: settings.count * 6)
    for setting in settings {
      write(integer: setting.identifier)
      write(integer: setting.value)
    }
  }

  mutating func writeSettingsAcknowledgement() {
    writeHead(HTTP2FrameType.settings, flags: HTTP2FrameFlags.acknowledgement, length: 0)
  }

  mutating func writePing(_ payload: UInt64, isAcknowledgement: Bool) {
    writeHead(HTTP2FrameType.ping, flags: isAcknowledgement ? HTTP2FrameFlags.acknowledgement : 0, length: 8)
    write(integer: payload)
  }

  mutating func writeReset(_ stream: UInt32, _ code: HTTP2ErrorCode) {
    writeHead(HTTP2FrameType.reset, stream: stream, length: 4)
    write(integer: code.rawValue)
  }

  mutating func writeWindowUpdate(_ stream: UInt32, increment: Int) {
    writeHead(HTTP2FrameType.windowUpdate, stream: stream, length: 4)
    write(integer: UInt32(truncatingIfNeeded: increment))
  }

  /// The last stream is 0, as a server opens none.
  mutating func writeGoAway(_ code: HTTP2ErrorCode, text: String) {
    let text = Array(text.utf8.prefix(256))
    writeHead(HTTP2FrameType.goAway, length: 8 + text.count)
    write(integer: UInt32(0))
    write(integer: code.rawValue)
    text.withUnsafeBytes { write($0) }
  }

  /// Writes a block of fields, in several frames if one would be larger than the peer takes (section 4.3).
  mutating func writeHeaders(_ stream: UInt32, _ block: UnsafeRawBufferPointer, isEnd: Bool, largestFrame: Int) {
    var (position, isFirst) = (0, true)
    repeat {
      let piece = UnsafeRawBufferPointer(rebasing: block[position...].prefix(largestFrame))
      position += piece.count
      let flags =
        (isEnd && isFirst ? HTTP2FrameFlags.endStream : 0) | (position == block.count ? HTTP2FrameFlags.endHeaders : 0)
      writeHead(
        isFirst ? HTTP2FrameType.headers : HTTP2FrameType.continuation, flags: flags, stream: stream,
        length: piece.count)
      write(piece)
      isFirst = false
    } while position < block.count
  }

  mutating func writeData(_ stream: UInt32, _ bytes: UnsafeRawBufferPointer, isEnd: Bool) {
    writeHead(HTTP2FrameType.data, flags: isEnd ? HTTP2FrameFlags.endStream : 0, stream: stream, length: bytes.count)
    write(bytes)
  }

  private mutating func writeHead(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, length: Int) {
    // The length has 24 bits.
    write(integer: UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))
    write(integer: flags)
    write(integer: stream)
  }

  private mutating func write(integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { write($0) }
  }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) {
    if !queue.append(bytes) { hasFailed = true }
  }
}
