import HTTPClientCore
import Streams
import SystemBase

/// The life of an open connection (RFC 6455, sections 5.5 and 7): a state machine that knows nothing about sockets,
/// threads or clocks, and returns what is to be done.
///
///     open ──► closing (this side has sent its close) ──► ended
///       `──────────────────────────────────────────────────^
struct WebSocketMachine {
  /// What follows from what has happened.
  struct Effects {
    /// For the observer, in order, and how much they count against what may wait for it.
    var events: [WebSocketEvent] = []
    var size = 0
    /// The payloads of the pongs to send: if more pings came together than are answered, the last (section 5.5.3).
    var pongs = Fifo<Data>()
    /// The close frame to send, unless one was sent before.
    var close: WebSocketClosure?
    /// Set if the connection has ended for the observer: the last event, or the error.
    var end: End?
    /// Whether a part of what has arrived is still to be read.
    var hasUnread = false

    /// Whether the observer alone has to do with it.
    var isForObserver: Bool { pongs.isEmpty && close == nil && end == nil && !hasUnread }

    fileprivate mutating func add(_ event: WebSocketEvent) {
      events.append(event)
      size += event.size
    }

    fileprivate mutating func addPong(_ payload: Data) {
      pongs.append(payload)
      if pongs.count > WebSocketOutput.mostPongs { _ = pongs.popFirst() }
    }
  }

  enum End {
    case closed(WebSocketClosure)
    case failed(RequestError)
  }

  private enum Phase {
    case open, closing, ended
  }

  private var phase = Phase.open
  private var reader: WebSocketReader
  /// What has arrived and is still to be read.
  private var unread: [UInt8] = []

  init(limit: Int, compression: CompressionAgreement? = nil) {
    reader = WebSocketReader(limit: limit, inflater: compression.flatMap { MessageInflater($0) })
  }

  /// Reads what has arrived, up to the end of the turn, or to the event with which there is no more room for the observer;
  /// the rest is to be read by `readOn`, before anything else is received. After the end, everything is ignored.
  mutating func receive(
    _ input: UnsafeRawBufferPointer, room: Int, during turn: inout ReadingTurn, into effects: inout Effects
  ) {
    var input = input
    // At least one message of any size.
    let room = max(room, 1)
    do throws(WebSocketViolation) {
      while phase != .ended, effects.size < room,
        let item = try reader.next(&input, during: &turn)
      {
        switch item {
        case .message(let message): effects.add(.message(message))
        case .pong(let payload): effects.add(.pong(payload))
        // Nothing follows this side's close.
        case .ping(let payload): if phase == .open { effects.addPong(payload) }
        case .close(let closure):
          // Section 5.5.1: the code is sent back.
          effects.close = WebSocketClosure(code: closure.code)
          end(.closed(closure), &effects)
        }
      }
      guard phase != .ended, !input.isEmpty else { return }
      unread = Array(input)
      effects.hasUnread = true
    } catch {
      effects.close = WebSocketClosure(code: error.code, reason: error.shortReason)
      end(.failed(error.error), &effects)
    }
  }

  /// Whether a part of what has arrived is still to be read.
  var hasUnread: Bool { !unread.isEmpty }

  /// Reads more of what has arrived, as `receive` does.
  mutating func readOn(room: Int, during turn: inout ReadingTurn, into effects: inout Effects) {
    let bytes = exchange(&unread, with: [])
    bytes.withUnsafeBytes { receive($0, room: room, during: &turn, into: &effects) }
  }

  /// Records that this side sends its close; returns false if it had before, or the connection has ended.
  mutating func didSendClose() -> Bool {
    guard phase == .open else { return false }
    phase = .closing
    return true
  }

  /// Records that nothing more comes: the server has ended the connection, it broke, or a time limit has passed.
  mutating func didLose(_ error: RequestError, into effects: inout Effects) {
    switch phase {
    case .open: end(.failed(error), &effects)
    // Section 7.1.5.
    case .closing: end(.closed(WebSocketClosure(code: .abnormal)), &effects)
    case .ended: break
    }
  }

  private mutating func end(_ end: End, _ effects: inout Effects) {
    phase = .ended
    effects.end = end
  }
}

extension WebSocketMessage {
  /// How many bytes it has.
  var size: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let data): data.count
    }
  }

  /// Its kind, and a look at its bytes.
  func withBytes<Result>(_ body: (Opcode, UnsafeRawBufferPointer) -> Result) -> Result {
    switch self {
    case .text(var text): text.withUTF8 { body(.text, UnsafeRawBufferPointer($0)) }
    case .binary(let data): data.withUnsafeBytes { body(.binary, $0) }
    }
  }
}

extension WebSocketViolation {
  /// What fits into a close frame.
  fileprivate var shortReason: String { String(reason.prefix(while: \.isASCII).prefix(123)) }
}
