import HTTPClientCore
import SystemBase

/// How much of what arrives is read before others have their turn. It is counted in bytes, of which what takes long for
/// its size, such as frames without content, counts as more than it has.
struct ReadingTurn {
  private var left: Int
  /// How many frames have begun in it.
  private(set) var frames = 0

  /// Takes the size, at least 1: by default what takes a few milliseconds at most.
  init(of size: Int = 1 << 20) {
    left = size
  }

  var isOver: Bool { left <= 0 }

  /// Counts a read of the socket as what it brings at most: by TLS, a few bytes may have come in many records.
  mutating func addRead() { left -= 64 << 10 }

  mutating func addFrame() {
    frames += 1
    left -= 256
  }

  /// Counts what is decompressed: blocks without content take long for their size.
  mutating func addCompressed(_ count: Int) { left -= 16 * count }

  mutating func addDecompressed(_ count: Int) { left -= count }
}

/// Reads the frames of a server, however they are split, and puts messages together: a state machine that knows nothing
/// about sockets.
///
/// Not `Sendable`: it may have an inflater.
struct WebSocketReader {
  /// What has arrived as a whole.
  enum Item: Equatable {
    case message(WebSocketMessage)
    case ping(Data)
    case pong(Data)
    /// The code is `noStatus` if there was none.
    case close(WebSocketClosure)
  }

  /// The frame of which only a part has been read.
  private struct Frame {
    let head: FrameHead
    var left: Int
  }

  /// The beginning of a head, if the rest is still to come.
  private var partialHead: [UInt8] = []
  private var frame: Frame?
  /// What has arrived of a control frame.
  private var control: [UInt8] = []
  /// The message whose last frame is still to come.
  private var message: MessageAssembly?
  private let limit: Int
  private let inflater: MessageInflater?

  /// Takes the greatest size of a message, and the decompression that was agreed on.
  init(limit: Int, inflater: MessageInflater? = nil) {
    self.limit = limit
    self.inflater = inflater
  }

  /// Reads from the beginning of `input`, which becomes the rest, up to the end of the next item; returns `nil` when all
  /// is read, or the turn is over. After an error, it must not be called again.
  mutating func next(
    _ input: inout UnsafeRawBufferPointer, during turn: inout ReadingTurn
  ) throws(WebSocketViolation) -> Item? {
    while true {
      // An empty frame needs no turn of its own, and nothing may follow it by which there would be one.
      if turn.isOver, !input.isEmpty { return nil }
      guard let frame else {
        guard let head = try readHead(&input) else { return nil }
        turn.addFrame()
        try begin(head)
        self.frame = Frame(head: head, left: head.length)
        continue
      }
      // An empty frame is complete at once.
      guard !input.isEmpty || frame.left == 0 else { return nil }
      let isControl = frame.head.opcode.isControl
      let size = isControl ? frame.left : min(frame.left, message?.largestPiece ?? .max)
      let piece = UnsafeRawBufferPointer(rebasing: input.prefix(size))
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(piece.count))
      let isWhole = piece.count == frame.left
      self.frame = isWhole ? nil : Frame(head: frame.head, left: frame.left - piece.count)
      if isControl {
        if isWhole, control.isEmpty { return try item(frame.head.opcode, piece) }
        control += piece
        guard isWhole else { continue }
        defer { control = [] }
        return try control.withBytes { bytes throws(WebSocketViolation) in try item(frame.head.opcode, bytes) }
      }
      let isLast = isWhole && frame.head.isFinal
      guard let whole = try message?.add(piece, isLast: isLast, during: &turn) else { continue }
      message = nil
      return .message(whole)
    }
  }

  private mutating func readHead(_ input: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> FrameHead? {
    if partialHead.isEmpty {
      if let (head, size) = try FrameHead.read(input) {
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(size))
        return head
      }
      partialHead += input
      input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
      return nil
    }
    while let byte = input.first {
      partialHead.append(byte)
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
      let bytes = partialHead
      let read = try bytes.withBytes { bytes throws(WebSocketViolation) in try FrameHead.read(bytes) }
      if let read {
        partialHead = []
        return read.head
      }
    }
    return nil
  }

  /// Checks a frame against what came before it (RFC 6455, sections 5.2 and 5.4), before its payload has arrived.
  private mutating func begin(_ head: FrameHead) throws(WebSocketViolation) {
    let mayBeCompressed = inflater != nil && (head.opcode == .text || head.opcode == .binary)
    guard !head.isCompressed || mayBeCompressed else {
      throw .protocolError("a frame has a reserved bit that was not agreed on")
    }
    switch head.opcode {
    case .text, .binary:
      guard message == nil else { throw .protocolError("a message begins within another one") }
      message = MessageAssembly(
        isText: head.opcode == .text, limit: limit, inflater: head.isCompressed ? inflater : nil)
    case .continuation:
      guard message != nil else { throw .protocolError("a message is continued that was not begun") }
    case .close, .ping, .pong: return
    }
    try message?.checkSize(of: head.length)
  }

  private func item(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) throws(WebSocketViolation) -> Item {
    switch opcode {
    case .ping: .ping(Data(payload))
    case .pong: .pong(Data(payload))
    default: .close(try WebSocketClosure(received: payload))
    }
  }
}

/// The parts of one message.
private struct MessageAssembly {
  private let isText: Bool
  private let limit: Int
  private let inflater: MessageInflater?
  private var bytes = Data()
  private var utf8 = UTF8Checker()

  /// How many bytes to add at a time.
  var largestPiece: Int { inflater == nil ? .max : MessageInflater.largestInput }

  init(isText: Bool, limit: Int, inflater: MessageInflater?) {
    self.isText = isText
    self.limit = limit
    self.inflater = inflater
  }

  /// Refuses a frame that makes the message too large, before it arrives. Of a compressed message the size is known only
  /// afterwards.
  func checkSize(of length: Int) throws(WebSocketViolation) {
    guard inflater != nil || length <= limit - bytes.count else { throw .tooLarge(limit) }
  }

  /// Adds bytes as they were received; returns the message if it is complete.
  mutating func add(
    _ piece: UnsafeRawBufferPointer, isLast: Bool, during turn: inout ReadingTurn
  ) throws(WebSocketViolation) -> WebSocketMessage? {
    if let inflater {
      turn.addCompressed(piece.count)
      try inflater.inflate(piece, isLast: isLast) { decoded throws(WebSocketViolation) in
        turn.addDecompressed(decoded.count)
        guard decoded.count <= limit - bytes.count else { throw .tooLarge(limit) }
        try check(decoded)
        bytes.append(contentsOf: decoded)
      }
    } else {
      try check(piece)
      // Most messages are a single piece, which needs no buffer.
      if isLast, bytes.isEmpty { return try message(piece) }
      bytes.append(contentsOf: piece)
    }
    guard isLast else { return nil }
    guard isText else { return .binary(bytes) }
    return try bytes.withBytes { bytes throws(WebSocketViolation) in try message(bytes) }
  }

  private mutating func check(_ piece: UnsafeRawBufferPointer) throws(WebSocketViolation) {
    guard !isText || utf8.accepts(piece) else { throw .invalidData("a text is not UTF-8") }
  }

  private func message(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> WebSocketMessage {
    guard isText else { return .binary(Data(bytes)) }
    guard utf8.isComplete else { throw .invalidData("a text ends within a character") }
    let span = bytes.bindMemory(to: UInt8.self).span
    return .text(String(copying: UTF8Span(unchecked: span, isKnownASCII: utf8.isASCII)))
  }
}

extension WebSocketClosure {
  /// Reads the payload of a close frame (RFC 6455, section 5.5.1).
  init(received payload: UnsafeRawBufferPointer) throws(WebSocketViolation) {
    guard !payload.isEmpty else {
      self.init(code: .noStatus)
      return
    }
    guard payload.count >= 2 else { throw .protocolError("a close frame has half a code") }
    let code = WebSocketCloseCode(UInt16(payload[0]) << 8 | UInt16(payload[1]))
    // Section 7.4.
    guard code.isSendable else { throw .protocolError("a close frame has the code \(code), which must not be sent") }
    var utf8 = UTF8Checker()
    let reason = UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
    guard utf8.accepts(reason), utf8.isComplete else { throw .invalidData("the reason of a close is not UTF-8") }
    self.init(code: code, reason: String(decoding: reason, as: UTF8.self))
  }

  /// The payload of a close frame.
  var payload: [UInt8] {
    guard code != .noStatus else { return [] }
    return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + reason.utf8
  }
}
