/// The types of frames (RFC 9113, section 6).
enum HTTP2FrameType {
  static let data: UInt8 = 0
  static let headers: UInt8 = 1
  static let priority: UInt8 = 2
  static let reset: UInt8 = 3
  static let settings: UInt8 = 4
  static let pushPromise: UInt8 = 5
  static let ping: UInt8 = 6
  static let goAway: UInt8 = 7
  static let windowUpdate: UInt8 = 8
  static let continuation: UInt8 = 9
}

/// The flags of frames (section 6).
enum HTTP2FrameFlags {
  static let acknowledgement: UInt8 = 0x1
  static let endStream: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8
  static let priority: UInt8 = 0x20
}

/// What begins each frame (section 4.1).
private struct HTTP2FrameHead {
  static let size = 9

  let length: Int
  let type: UInt8
  let flags: UInt8
  let stream: UInt32

  /// Takes at least 9 bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    type = bytes[3]
    flags = bytes[4]
    stream = bytes.integer(at: 5) & 0x7FFF_FFFF
  }

  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

/// What a server has sent. The bytes are those of the reader or its input: they are valid until it is called again.
enum HTTP2Frame {
  case data(DataPiece)
  /// A whole block of fields, of one HEADERS frame and any number of CONTINUATION frames.
  case headers(stream: UInt32, block: UnsafeRawBufferPointer, isEnd: Bool)
  case reset(stream: UInt32, HTTP2ErrorCode)
  /// Pairs of an identifier, of 16 bits, and a value, of 32.
  case settings(UnsafeRawBufferPointer)
  case settingsAcknowledgement
  case ping(UInt64)
  case pong(UInt64)
  case goAway(lastStream: UInt32, HTTP2ErrorCode, text: UnsafeRawBufferPointer)
  case windowUpdate(stream: UInt32, increment: Int)
  /// A frame that says nothing: PRIORITY, one of an unknown type, or a CONTINUATION after which others come.
  case ignored
}

/// A piece of a DATA frame, or all of it.
struct DataPiece {
  let stream: UInt32
  let bytes: UnsafeRawBufferPointer
  /// How many bytes of padding came along, which count for flow control as the others (section 6.1).
  let padding: Int
  /// How many bytes of the frame are still to come, and how many of these are not padding.
  let left: Int
  let contentLeft: Int
  /// Whether the stream ends with it.
  let isEnd: Bool
  /// Whether it ends a frame without any content.
  let isEmptyFrame: Bool
}

/// Reads the frames of a server, however they are split: a state machine that knows nothing about streams. It refuses what
/// is wrong with a frame by itself, or in its place among the others.
///
/// DATA are passed on as they arrive; of all others at most one frame is kept, and one block of fields.
struct HTTP2FrameReader: ~Copyable {
  /// A DATA frame of which the rest is still to come.
  private struct DataFrame {
    let head: HTTP2FrameHead
    var left: Int
    /// How many bytes of padding end it; `nil` until the first byte says so.
    var padding: Int?
    var isEmpty: Bool { head.length == (head.has(HTTP2FrameFlags.padded) ? 1 + (padding ?? 0) : 0) }
  }

  /// A block of fields of which the rest is still to come.
  private struct OpenBlock {
    let stream: UInt32
    let isEnd: Bool
    var continuations = 0
  }

  /// The size of frames at most, unless a setting allows larger ones (section 6.5.2).
  static let largestFrame = 16 << 10
  /// The size of a block at most: some times that of a list of fields, so that larger ones can be decoded, and dropped.
  static let largestBlock = 256 << 10
  /// How many CONTINUATION frames a block has at most.
  static let mostContinuations = 64

  /// What has arrived of a frame with its head.
  private var partial = ByteQueue()
  private var isPartialLent = false
  private var data: DataFrame?
  /// How many bytes of a frame of an unknown type are still to come.
  private var skipped = 0
  private var openBlock: OpenBlock?
  private var block = ByteQueue()
  private var isBlockLent = false
  private var hasBegun = false

  /// Whether all frames that have begun are whole, and so are all blocks.
  var isBetweenFrames: Bool {
    (partial.isEmpty || isPartialLent) && data == nil && skipped == 0 && openBlock == nil
  }

  /// How many bytes it keeps.
  var keptCount: Int { partial.count + block.count }

  /// Reads from the beginning of `input`, which becomes the rest, up to the end of the next frame or piece of one; returns
  /// `nil` when all is read. After an error, it must not be called again.
  mutating func next(_ input: inout UnsafeRawBufferPointer) throws(HTTP2ConnectionError) -> HTTP2Frame? {
    if isPartialLent { partial.removeFirst(partial.count) }
    if isBlockLent { block.removeFirst(block.count) }
    (isPartialLent, isBlockLent) = (false, false)
    while true {
      if data != nil { return nextPiece(&input, try readPaddingLength(&input)) }
      if skipped > 0 {
        skipped -= input.dropFirst(upTo: skipped).count
        if skipped > 0 { return nil }
        return .ignored
      }
      if partial.isEmpty, input.count >= HTTP2FrameHead.size {
        let head = HTTP2FrameHead(input)
        try check(head)
        if begin(head) {
          _ = input.dropFirst(upTo: HTTP2FrameHead.size)
          continue
        }
        if input.count >= HTTP2FrameHead.size + head.length {
          _ = input.dropFirst(upTo: HTTP2FrameHead.size)
          return try frame(head, input.dropFirst(upTo: head.length))
        }
      }
      guard let head = try collect(&input) else { return nil }
      if begin(head) {
        partial.removeFirst(partial.count)
        continue
      }
      isPartialLent = true
      return try frame(head, UnsafeRawBufferPointer(rebasing: partial.bytes.dropFirst(HTTP2FrameHead.size)))
    }
  }

  /// Keeps what has arrived of a frame. Returns its head once it is there as a whole, or, of a frame that is not kept, once
  /// its head is.
  private mutating func collect(_ input: inout UnsafeRawBufferPointer) throws(HTTP2ConnectionError) -> HTTP2FrameHead? {
    var size = HTTP2FrameHead.size
    while true {
      try partial.keep(input.dropFirst(upTo: size - partial.count))
      guard partial.count >= size else { return nil }
      let head = HTTP2FrameHead(partial.bytes)
      if size == HTTP2FrameHead.size {
        try check(head)
        if isPassedOn(head) || head.length == 0 { return head }
        size += head.length
      } else {
        return head
      }
    }
  }

  // MARK: - The beginning of a frame

  /// Checks a frame before its payload has arrived.
  private mutating func check(_ head: HTTP2FrameHead) throws(HTTP2ConnectionError) {
    if !hasBegun {
      // Section 3.4. `HTT` as a length, of what is no HTTP/2 at all.
      guard head.length != 0x485454 else { throw .protocolError("it responds in HTTP/1") }
      guard head.type == HTTP2FrameType.settings, !head.has(HTTP2FrameFlags.acknowledgement) else {
        throw .protocolError("it does not begin with its settings")
      }
    }
    // Section 4.2.
    guard head.length <= Self.largestFrame else { throw .frameSize("a frame is larger than was allowed") }
    // Section 6.10.
    if let openBlock {
      guard head.type == HTTP2FrameType.continuation, head.stream == openBlock.stream else {
        throw .protocolError("a block of fields is interrupted")
      }
    } else if head.type == HTTP2FrameType.continuation {
      throw .protocolError("a block of fields is continued that was not begun")
    }
    switch head.type {
    case HTTP2FrameType.data, HTTP2FrameType.headers, HTTP2FrameType.continuation: try check(head, isOfStream: true)
    case HTTP2FrameType.priority: try check(head, isOfStream: true, size: 5)
    case HTTP2FrameType.reset: try check(head, isOfStream: true, size: 4)
    case HTTP2FrameType.settings:
      try check(head, isOfStream: false, size: head.has(HTTP2FrameFlags.acknowledgement) ? 0 : nil)
      guard head.length.isMultiple(of: 6) else { throw .frameSize("a SETTINGS frame ends within a setting") }
    // Section 8.4: it was told so.
    case HTTP2FrameType.pushPromise: throw .protocolError("it pushes, which it was told not to")
    case HTTP2FrameType.ping: try check(head, isOfStream: false, size: 8)
    case HTTP2FrameType.goAway:
      try check(head, isOfStream: false)
      guard head.length >= 8 else { throw .frameSize("a GOAWAY frame is too short") }
    case HTTP2FrameType.windowUpdate:
      guard head.length == 4 else { throw .frameSize("a WINDOW_UPDATE frame has \(head.length) bytes") }
    default: break
    }
    hasBegun = true
  }

  private func check(
    _ head: HTTP2FrameHead, isOfStream: Bool, size: Int? = nil
  ) throws(HTTP2ConnectionError) {
    guard isOfStream == (head.stream != 0) else {
      throw .protocolError("a frame of type \(head.type) has the stream \(head.stream)")
    }
    guard size ?? head.length == head.length else {
      throw .frameSize("a frame of type \(head.type) has \(head.length) bytes")
    }
  }

  /// Whether a frame is not kept until it is whole.
  private func isPassedOn(_ head: HTTP2FrameHead) -> Bool {
    head.type == HTTP2FrameType.data || head.type > HTTP2FrameType.continuation && head.length > 0
  }

  /// Begins a frame that is not kept until it is whole; returns whether it is one.
  private mutating func begin(_ head: HTTP2FrameHead) -> Bool {
    guard isPassedOn(head) else { return false }
    if head.type == HTTP2FrameType.data {
      data = DataFrame(head: head, left: head.length, padding: head.has(HTTP2FrameFlags.padded) ? nil : 0)
    } else {
      skipped = head.length
    }
    return true
  }

  // MARK: - DATA

  /// Reads the byte that says how long the padding is; returns how many bytes that took (section 6.1).
  private mutating func readPaddingLength(_ input: inout UnsafeRawBufferPointer) throws(HTTP2ConnectionError) -> Int {
    guard var frame = data, frame.padding == nil else { return 0 }
    guard frame.left > 0 else { throw .frameSize("a padded frame is empty") }
    guard let byte = input.dropFirst(upTo: 1).first else { return 0 }
    frame.left -= 1
    guard Int(byte) <= frame.left else { throw .paddingTooLong }
    frame.padding = Int(byte)
    data = frame
    return 1
  }

  private mutating func nextPiece(_ input: inout UnsafeRawBufferPointer, _ lengthSize: Int) -> HTTP2Frame? {
    guard var frame = data, let padding = frame.padding, !input.isEmpty || lengthSize > 0 || frame.left == 0 else {
      return nil
    }
    let bytes = input.dropFirst(upTo: frame.left - padding)
    frame.left -= bytes.count
    let padded = frame.left <= padding ? input.dropFirst(upTo: frame.left).count : 0
    frame.left -= padded
    data = frame.left == 0 ? nil : frame
    return .data(
      DataPiece(
        stream: frame.head.stream, bytes: bytes, padding: padded + lengthSize, left: frame.left,
        contentLeft: max(frame.left - padding, 0),
        isEnd: frame.left == 0 && frame.head.has(HTTP2FrameFlags.endStream),
        isEmptyFrame: frame.left == 0 && frame.isEmpty))
  }

  // MARK: - Other frames

  /// What a frame says that is there as a whole, and was checked.
  private mutating func frame(
    _ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame {
    switch head.type {
    case HTTP2FrameType.headers: try headers(head, payload)
    case HTTP2FrameType.continuation: try continuation(head, payload)
    case HTTP2FrameType.reset: .reset(stream: head.stream, HTTP2ErrorCode(rawValue: payload.integer(at: 0)))
    case HTTP2FrameType.settings:
      head.has(HTTP2FrameFlags.acknowledgement) ? .settingsAcknowledgement : .settings(payload)
    case HTTP2FrameType.ping:
      head.has(HTTP2FrameFlags.acknowledgement) ? .pong(payload.wideInteger(at: 0)) : .ping(payload.wideInteger(at: 0))
    case HTTP2FrameType.goAway:
      .goAway(
        lastStream: payload.integer(at: 0) & 0x7FFF_FFFF, HTTP2ErrorCode(rawValue: payload.integer(at: 4)),
        text: UnsafeRawBufferPointer(rebasing: payload.dropFirst(8)))
    case HTTP2FrameType.windowUpdate:
      .windowUpdate(stream: head.stream, increment: Int(payload.integer(at: 0) & 0x7FFF_FFFF))
    default: .ignored
    }
  }

  /// Section 6.2.
  private mutating func headers(
    _ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame {
    var fragment = payload
    if head.has(HTTP2FrameFlags.padded) {
      guard let padding = fragment.dropFirst(upTo: 1).first else { throw .frameSize("a padded frame is empty") }
      guard Int(padding) <= fragment.count else { throw .paddingTooLong }
      fragment = UnsafeRawBufferPointer(rebasing: fragment.dropLast(Int(padding)))
    }
    // A priority, which means nothing any more (section 5.3.2).
    if head.has(HTTP2FrameFlags.priority), fragment.dropFirst(upTo: 5).count < 5 {
      throw .frameSize("a HEADERS frame is too short")
    }
    let isEnd = head.has(HTTP2FrameFlags.endStream)
    if head.has(HTTP2FrameFlags.endHeaders) { return .headers(stream: head.stream, block: fragment, isEnd: isEnd) }
    openBlock = OpenBlock(stream: head.stream, isEnd: isEnd)
    try block.keep(fragment)
    return .ignored
  }

  /// Section 6.10.
  private mutating func continuation(
    _ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame {
    openBlock?.continuations += 1
    guard let open = openBlock, open.continuations <= Self.mostContinuations,
      block.count + payload.count <= Self.largestBlock
    else { throw .flood("a block of fields is far too large, or in too many frames") }
    try block.keep(payload)
    guard head.has(HTTP2FrameFlags.endHeaders) else { return .ignored }
    openBlock = nil
    isBlockLent = true
    return .headers(stream: open.stream, block: block.bytes, isEnd: open.isEnd)
  }
}

extension ByteQueue {
  fileprivate mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(HTTP2ConnectionError) {
    guard append(bytes) else { throw HTTP2ConnectionError(.internalError, "there is no memory for a frame") }
  }
}

extension HTTP2ConnectionError {
  fileprivate static var paddingTooLong: Self { .protocolError("the padding of a frame is longer than the frame") }
}

extension UnsafeRawBufferPointer {
  /// Removes and returns the first bytes: so many, or all if there are fewer.
  fileprivate mutating func dropFirst(upTo count: Int) -> UnsafeRawBufferPointer {
    let first = UnsafeRawBufferPointer(rebasing: prefix(Swift.max(count, 0)))
    self = UnsafeRawBufferPointer(rebasing: dropFirst(first.count))
    return first
  }

  /// The number of 32 bits in four bytes, which must be there.
  func integer(at offset: Int) -> UInt32 { UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }

  fileprivate func wideInteger(at offset: Int) -> UInt64 {
    UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
