import HTTPClientCore
import Streams
import SystemBase

/// The bytes of one stream of a connection that other exchanges share, as a channel: what is written is the body of a request
/// that stays open, and what is read is that of its response (RFC 8441, section 5).
///
/// The connection takes what is to be sent, and gives what has arrived, on the loop's thread; who reads and writes is
/// notified there, as a poller would: once there is something to read, or room again. What is not read stays with the server, since
/// its window opens as the bytes are read.
///
/// Nothing is called under its lock.
final class StreamChannel: ByteChannel, Sendable {
  private struct State {
    var head: HTTPResponseHead?
    /// What has arrived, how much of its first piece was read, how much of all was not, and what to call with the number of
    /// bytes that were.
    var received = Fifo<Data>()
    var offset = 0
    var unread = 0
    var whenTaken: (@Sendable (Int) -> Void)?
    /// Whether nobody reads any more.
    var isClosed = false
    /// What is read behind all that has arrived, once nothing more will: the end, or an error.
    var end: ReadOutcome?

    /// What waits for the connection, and what to call once there is more than it has found.
    var unsent = Data()
    var whenReady: (@Sendable () -> Void)?
    var isAwaited = false
    /// Whether somebody waits for room.
    var isBlocked = false
  }

  private let state = Locked(State())
  private let loop: EventLoop
  /// Called on the loop's thread.
  private let wake: @Sendable (PollEvent) -> Void

  /// How many bytes wait for the connection at most.
  private static let mostUnsent = 64 << 10

  init(on loop: EventLoop, wake: @escaping @Sendable (PollEvent) -> Void) {
    self.loop = loop
    self.wake = wake
  }

  private func wake(isReadable: Bool = false, isWritable: Bool = false) {
    let event = PollEvent(token: 0, isReadable: isReadable, isWritable: isWritable, isOver: false)
    loop.submit { [wake] in wake(event) }
  }

  // MARK: - For the connection

  /// Records that the stream is open; `whenReady` is called, on any thread, once there is more to send than was found.
  func begin(whenReady: @escaping @Sendable () -> Void) {
    state.withLock { $0.whenReady = whenReady }
  }

  /// Removes and returns what is to be sent; `nil` if there is nothing for now.
  func takeUnsent() -> Data? {
    let (bytes, hasRoom) = state.withLock { state -> (Data?, Bool) in
      state.isAwaited = state.unsent.isEmpty
      guard !state.unsent.isEmpty else { return (nil, false) }
      return (exchange(&state.unsent, with: Data()), exchange(&state.isBlocked, with: false))
    }
    if hasRoom { wake(isWritable: true) }
    return bytes
  }

  /// Takes parts of the response; `whenTaken` is called with the number of bytes that were read, of these and of those
  /// before. It may keep the exchange, and with it this, so it goes with ``close()``.
  func receive(_ parts: [HTTPResponsePart], whenTaken: (@Sendable (Int) -> Void)? = nil) {
    let dropped = state.withLock { state -> Int in
      let count = parts.reduce(0) { if case .body(let piece) = $1 { $0 + piece.count } else { $0 } }
      if state.isClosed { return count }
      // The last parts come without one, and others may still be to be read.
      if let whenTaken { state.whenTaken = whenTaken }
      state.unread += count
      for part in parts {
        switch part {
        case .head(let head): state.head = head
        case .body(let piece): if !piece.isEmpty { state.received.append(piece) }
        case .trailers: break
        }
      }
      return 0
    }
    if dropped > 0 { whenTaken?(dropped) }
    wake(isReadable: true)
  }

  /// Records that nothing more will arrive: for the end of the response, or for an error.
  func receiveEnd(_ error: RequestError? = nil) {
    state.withLock { state in
      if state.end == nil { state.end = error.map { .failed($0) } ?? .end(isAuthentic: true) }
    }
    wake(isReadable: true)
  }

  /// Passes on how the exchange ends.
  var observer: AnyObserver<HTTPResponsePart> {
    AnyObserver { [self] event in
      switch event {
      case .next(let part): receive([part])
      case .error(let error): receiveEnd(RequestError(wrapping: error))
      case .completed: receiveEnd()
      }
    }
  }

  // MARK: - For the session

  /// The head of the response, once it has come.
  var head: HTTPResponseHead? { state.withLock { $0.head } }

  func beginReading(isOver: Bool) {}

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let (count, end, whenTaken) = state.withLock { state in
      var count = 0
      while count < buffer.count, let piece = state.received.first {
        let taken = min(piece.count - state.offset, buffer.count - count)
        piece.withUnsafeBytes { bytes in
          UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[state.offset..<state.offset + taken]))
        }
        count += taken
        state.unread -= taken
        state.offset += taken
        guard state.offset == piece.count else { break }
        _ = state.received.popFirst()
        state.offset = 0
      }
      return (count, state.end, state.whenTaken)
    }
    guard count > 0 else { return end ?? .blocked }
    whenTaken?(count)
    return .bytes(count)
  }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
    let (outcome, whenReady) = state.withLock { state -> (WriteOutcome, (@Sendable () -> Void)?) in
      if case .failed(let error)? = state.end { return (.failed(error), nil) }
      let room = Self.mostUnsent - state.unsent.count
      guard room > 0 else {
        state.isBlocked = true
        return (.blocked, nil)
      }
      let start = first.prefix(room)
      let rest = second.prefix(room - start.count)
      state.unsent.append(contentsOf: start)
      state.unsent.append(contentsOf: rest)
      return (.taken(start.count + rest.count), exchange(&state.isAwaited, with: false) ? state.whenReady : nil)
    }
    whenReady?()
    return outcome
  }

  func flush() -> StepOutcome { .done }

  /// Drops what nobody will read, for which the server gets its window back. What was written is still sent: the stream is
  /// the exchange's, and who has made that ends it.
  func close() {
    let (unread, whenTaken) = state.withLock { state in
      state.isClosed = true
      state.received = Fifo()
      return (exchange(&state.unread, with: 0), state.whenTaken.take())
    }
    if unread > 0 { whenTaken?(unread) }
  }

  var hasEnded: Bool { state.withLock { $0.end != nil } }

  func condition() -> Socket.Condition { hasEnded ? .closed : .quiet }
}
