import HTTP
import Platform

/// What an open connection sends: the channel, and the frames that wait for it. Any thread may send, so it stands behind
/// a lock.
///
/// The sender's thread writes at once what the socket has room for; the loop writes the rest. While nothing waits, no
/// memory is held.
struct WebSocketOutput {
  /// What is to be done after a call.
  enum Outcome {
    case done
    /// The loop has to flush when there is room.
    case blocked
    /// The connection broke: the loop has to read what there still is, and then report the error.
    case broken
  }

  let channel: any ByteChannel
  /// The loop to call after a call.
  let loop: EventLoop
  private var writer = FrameWriter()
  private var bytes: [UInt8] = []
  /// How many of them are written.
  private var position = 0
  /// The pong that follows them: only the latest ping needs one (RFC 6455, section 5.5.3).
  private var pong: Data?
  private var hasClosed = false
  private var writeError: RequestError?
  private let limit: Int
  private let compresses: Bool

  /// The capacity that is kept while nothing waits.
  private static let keptCapacity = 1 << 10
  /// After how many written bytes the others are moved to the front.
  private static let mostWritten = 64 << 10

  init(_ channel: any ByteChannel, on loop: EventLoop, limit: Int, compresses: Bool) {
    self.channel = channel
    self.loop = loop
    self.limit = limit
    self.compresses = compresses
  }

  /// Carries out a command. Throws `overloaded` if too much waits, and `connectionLost` if the connection is closed.
  mutating func perform(_ command: WebSocketConnection.Command) throws(RequestError) -> Outcome {
    switch command {
    case .send(let message):
      try checkRoom(for: message.size)
      message.withBytes { opcode, payload in
        if compresses, let compressed = MessageDeflater.deflate(payload) {
          compressed.withUnsafeBytes { writer.write(opcode, $0, isCompressed: true, to: &bytes) }
        } else {
          writer.write(opcode, payload, to: &bytes)
        }
      }
      return write()
    case .ping(let payload):
      try checkRoom(for: payload.count)
      payload.withUnsafeBytes { writer.write(.ping, $0, to: &bytes) }
      return write()
    case .close(let closure):
      return close(closure)
    }
  }

  /// Writes a pong, or keeps it while there is no room, in place of an earlier one.
  mutating func sendPong(_ payload: Data) -> Outcome {
    guard !hasClosed else { return .done }
    pong = payload
    return write()
  }

  /// Writes a close frame, after which nothing else is written; does nothing the second time.
  mutating func close(_ closure: WebSocketClosure) -> Outcome {
    guard !hasClosed else { return .done }
    hasClosed = true
    pong = nil
    closure.payload.withUnsafeBytes { writer.write(.close, $0, to: &bytes) }
    return write()
  }

  private func checkRoom(for count: Int) throws(RequestError) {
    guard !hasClosed, writeError == nil else { throw .webSocketClosed }
    let waiting = bytes.count - position
    guard waiting == 0 || count <= limit - waiting else {
      throw RequestError(
        .overloaded, "The server does not keep up: \(waiting) bytes wait to be sent, and \(limit) may: send less.")
    }
  }

  /// Writes what waits.
  mutating func write() -> Outcome {
    guard writeError == nil else { return .done }
    while true {
      if position == bytes.count { takePong() }
      guard position < bytes.count else { break }
      let outcome = bytes.withUnsafeBytes { bytes in
        channel.write(
          UnsafeRawBufferPointer(rebasing: bytes[position...]), UnsafeRawBufferPointer(start: nil, count: 0))
      }
      switch outcome {
      case .taken(let count): advance(by: count)
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

  private mutating func takePong() {
    guard let payload = pong.take() else { return }
    payload.withUnsafeBytes { writer.write(.pong, $0, to: &bytes) }
  }

  private mutating func advance(by count: Int) {
    position += count
    if position == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
      position = 0
    } else if position >= Self.mostWritten, position > bytes.count / 2 {
      bytes.removeFirst(position)
      position = 0
    }
  }

  private mutating func fail(_ error: RequestError) -> Outcome {
    writeError = error
    (bytes, position, pong) = ([], 0, nil)
    return .broken
  }

  /// Reads what has arrived; when nothing is left to read, an earlier error of writing is reported.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let outcome = channel.read(into: buffer)
    guard case .blocked = outcome, let writeError else { return outcome }
    return .failed(writeError)
  }
}

extension RequestError {
  /// The error of a command on a connection that is closed or closing.
  static let webSocketClosed = RequestError(
    .connectionLost, "The WebSocket connection is closed: nothing can be sent.", reached: .never)
}
