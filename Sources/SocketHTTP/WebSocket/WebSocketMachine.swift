import HTTP
import Platform

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
    /// The payload of a pong to send: of several pings that came together, the last (section 5.5.3).
    var pong: Data?
    /// The close frame to send, unless one was sent before.
    var close: WebSocketClosure?
    /// Set if the connection has ended for the observer: the last event, or the error.
    var end: End?

    fileprivate mutating func add(_ event: WebSocketEvent) {
      events.append(event)
      size += event.size
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

  init(limit: Int, compression: CompressionAgreement? = nil) {
    reader = WebSocketReader(limit: limit, inflater: compression.flatMap { MessageInflater($0) })
  }

  /// Reads what has arrived. After the end, everything is ignored.
  mutating func receive(_ input: UnsafeRawBufferPointer, into effects: inout Effects) {
    var input = input
    do throws(WebSocketViolation) {
      while phase != .ended, let item = try reader.next(&input) {
        switch item {
        case .message(let message): effects.add(.message(message))
        case .pong(let payload): effects.add(.pong(payload))
        // Nothing follows this side's close.
        case .ping(let payload): if phase == .open { effects.pong = payload }
        case .close(let closure):
          // Section 5.5.1: the code is sent back.
          effects.close = WebSocketClosure(code: closure.code)
          end(.closed(closure), &effects)
        }
      }
    } catch {
      effects.close = WebSocketClosure(code: error.code, reason: error.shortReason)
      end(.failed(error.error), &effects)
    }
  }

  /// Records that this side has sent its close; returns whether the server's is still to come.
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
