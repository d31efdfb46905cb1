import HTTPClientCore
import Streams
import SystemBase

/// What an open connection sends: the channel, and the frames that wait for it. Any thread may send, so it stands behind
/// a lock, which the loop needs, too, and which is therefore held for moments: messages that are large or compressed are
/// made to frames outside of it, and only a part of what waits is written at a time.
///
/// The sender's thread writes at once what the socket has room for; the loop writes the rest. While nothing waits, no
/// memory is held.
struct WebSocketOutput {
  /// What is to be done after a call.
  enum Outcome {
    case done
    /// The loop has to flush when there is room.
    case blocked
    /// There is more than is written in one turn: flush again.
    case more
    /// The connection broke: the loop has to read what there still is, and then report the error.
    case broken
  }

  let channel: any ByteChannel
  /// The loop to call after a call.
  let loop: EventLoop
  private var keys = MaskingKeys()
  /// Whole frames that are being written.
  private var bytes: [UInt8] = []
  /// How many of them are written.
  private var position = 0
  /// Whole frames that follow them, and the small ones behind these.
  private var blocks = Fifo<[UInt8]>()
  private var lastBlock: [UInt8] = []
  /// How many bytes wait in all of them.
  private(set) var waiting = 0
  /// What goes out as soon as a frame is written: pongs, and a ping of this side's own.
  private var pongs = Fifo<Data>()
  private var isPingDue = false
  /// The close that follows once the observer has got what came before the end of the connection.
  private var pendingClose: WebSocketClosure?
  private(set) var hasClosed = false
  private var writeError: RequestError?
  private let limit: Int
  private let compression: CompressionAgreement?

  /// How many pongs wait at most; of more, the latest (RFC 6455, section 5.5.3).
  static let mostPongs = 64
  /// The size from which on a message is made to frames outside of the lock, and how much is written at a time.
  private static let largestTurn = 64 << 10
  /// The capacity that is kept while nothing waits.
  private static let keptCapacity = 1 << 10

  init(_ channel: any ByteChannel, on loop: EventLoop, limit: Int, compression: CompressionAgreement?) {
    self.channel = channel
    self.loop = loop
    self.limit = limit
    self.compression = compression
  }

  enum Sending {
    case sent(Outcome)
    /// The message has to be made to frames first, outside of the lock.
    case framing(MessageFraming)
  }

  /// Sends a message, if that takes no longer than a moment. Throws `overloaded` if too much waits, and
  /// `connectionLost` if the connection is closed.
  mutating func send(_ message: WebSocketMessage) throws(RequestError) -> Sending {
    let size = message.size
    try checkRoom(for: size)
    let compression = size >= MessageDeflater.smallest ? compression : nil
    guard compression == nil, size <= Self.largestTurn else {
      return .framing(MessageFraming(key: keys.next(), compression: compression))
    }
    message.withBytes { opcode, payload in add(opcode, payload) }
    return .sent(write())
  }

  /// Sends the frames of a message of so many bytes. Throws what `send` does.
  mutating func send(_ frames: [[UInt8]], of size: Int) throws(RequestError) -> Outcome {
    try checkRoom(for: size)
    endLastBlock()
    for frame in frames {
      blocks.append(frame)
      waiting += frame.count
    }
    return write()
  }

  /// Sends a ping, behind all that waits. Throws what `send` does.
  mutating func ping(_ payload: Data) throws(RequestError) -> Outcome {
    try checkRoom(for: payload.count)
    payload.withUnsafeBytes { add(.ping, $0) }
    return write()
  }

  /// Sends an empty ping ahead of what waits, however much that is.
  mutating func pingAhead() -> Outcome {
    guard !hasClosed else { return .done }
    isPingDue = true
    return write()
  }

  /// Writes pongs, or keeps the latest while there is no room.
  mutating func sendPongs(_ payloads: Fifo<Data>) -> Outcome {
    guard !hasClosed else { return .done }
    var payloads = payloads
    while let payload = payloads.popFirst() {
      pongs.append(payload)
      if pongs.count > Self.mostPongs { _ = pongs.popFirst() }
    }
    return write()
  }

  /// Writes a close frame, after which nothing else is written; does nothing the second time.
  mutating func close(_ closure: WebSocketClosure) -> Outcome {
    guard !hasClosed else { return .done }
    hasClosed = true
    (pendingClose, isPingDue) = (nil, false)
    addAhead()
    closure.payload.withUnsafeBytes { add(.close, $0) }
    return write()
  }

  /// Keeps a close frame for `closeIfPending`.
  mutating func closeLater(_ closure: WebSocketClosure) { pendingClose = closure }

  /// Writes the close frame that was kept, unless one was written.
  mutating func closeIfPending() -> Outcome { pendingClose.map { close($0) } ?? .done }

  private func checkRoom(for count: Int) throws(RequestError) {
    guard !hasClosed, writeError == nil else { throw .webSocketClosed }
    guard waiting == 0 || count <= limit - waiting else {
      throw RequestError(
        .overloaded, "The server does not keep up: \(waiting) bytes wait to be sent, and \(limit) may: send less.")
    }
  }

  /// Adds a small frame behind all that waits.
  private mutating func add(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) {
    let count = lastBlock.count
    FrameWriter.write(opcode, payload, key: keys.next(), to: &lastBlock)
    waiting += lastBlock.count - count
    if lastBlock.count >= Self.largestTurn { endLastBlock() }
  }

  private mutating func addAhead() {
    while let payload = pongs.popFirst() { payload.withUnsafeBytes { add(.pong, $0) } }
    if exchange(&isPingDue, with: false) { add(.ping, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  private mutating func endLastBlock() {
    if !lastBlock.isEmpty { blocks.append(exchange(&lastBlock, with: [])) }
  }

  /// Writes more of what waits; `hasWritten` says whether any of it was taken.
  mutating func writeOn() -> (outcome: Outcome, hasWritten: Bool) {
    let before = waiting
    let outcome = write()
    return (outcome, waiting < before)
  }

  /// Writes what waits, up to the size of a turn.
  mutating func write() -> Outcome {
    guard writeError == nil else { return .done }
    var left = Self.largestTurn
    while takeNext() {
      guard left > 0 else { return .more }
      let outcome = bytes.withUnsafeBytes { bytes in
        channel.write(
          UnsafeRawBufferPointer(rebasing: bytes[position...].prefix(left)),
          UnsafeRawBufferPointer(start: nil, count: 0))
      }
      switch outcome {
      case .taken(let count):
        left -= count
        position += count
        waiting -= count
      case .blocked: return .blocked
      case .failed(let error): return fail(error)
      }
    }
    switch channel.flush() {
    case .done: return .done
    case .blocked: return .blocked
    case .failed(let error): return fail(error)
    }
  }

  /// Makes `bytes` what is to be written next, pongs and pings first; returns false if nothing waits.
  private mutating func takeNext() -> Bool {
    guard position == bytes.count else { return true }
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    position = 0
    if !pongs.isEmpty || isPingDue {
      // Ahead of what waits: the blocks begin and end with whole frames.
      swap(&bytes, &lastBlock)
      addAhead()
      swap(&bytes, &lastBlock)
    } else if let block = blocks.popFirst() {
      bytes = block
    } else {
      swap(&bytes, &lastBlock)
    }
    return !bytes.isEmpty
  }

  private mutating func fail(_ error: RequestError) -> Outcome {
    writeError = error
    (bytes, position, waiting, lastBlock) = ([], 0, 0, [])
    (blocks, pongs, isPingDue) = (Fifo(), Fifo(), false)
    return .broken
  }

  /// Reads what has arrived; when nothing is left to read, an earlier error of writing is reported.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let outcome = channel.read(into: buffer)
    guard case .blocked = outcome, let writeError else { return outcome }
    return .failed(writeError)
  }
}

/// Makes a message to frames, which takes long if the message is large: compresses it, copies it and masks it.
struct MessageFraming {
  fileprivate let key: UInt32
  fileprivate let compression: CompressionAgreement?

  /// The size of the parts of a large message: pongs and pings can go out between them (RFC 6455, section 5.4).
  private static let largestFrame = 256 << 10

  /// The whole frames, in order.
  func frames(of message: WebSocketMessage) -> [[UInt8]] {
    message.withBytes { opcode, payload in
      guard let compression, let compressed = MessageDeflater.deflate(payload, window: compression.clientWindow) else {
        return frames(opcode, payload, isCompressed: false)
      }
      return compressed.withUnsafeBytes { frames(opcode, $0, isCompressed: true) }
    }
  }

  private func frames(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer, isCompressed: Bool) -> [[UInt8]] {
    var (keys, frames, rest) = (MaskingKeys(), [[UInt8]](), payload)
    repeat {
      let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.largestFrame))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
      let isFirst = frames.isEmpty
      var frame: [UInt8] = []
      frame.reserveCapacity(part.count + FrameWriter.largestHead)
      FrameWriter.write(
        isFirst ? opcode : .continuation, part, isFinal: rest.isEmpty, isCompressed: isFirst && isCompressed,
        key: isFirst ? key : keys.next(), to: &frame)
      frames.append(frame)
    } while !rest.isEmpty
    return frames
  }
}

extension RequestError {
  /// The error of a command on a connection that is closed or closing.
  static let webSocketClosed = RequestError(
    .connectionLost, "The WebSocket connection is closed: nothing can be sent.", reached: .never)
}
