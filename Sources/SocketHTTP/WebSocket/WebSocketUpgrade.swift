import HTTPClientCore
import SystemBase

/// Asks the server for a WebSocket, and reads its response.
protocol WebSocketUpgrade {
  /// The channel of the connection, or of a stream of one.
  var channel: any ByteChannel { get }

  /// Writes and reads as much as possible without blocking. `isOver` says that the peer may have stopped sending.
  mutating func advance(using buffer: UnsafeMutableRawBufferPointer, isOver: Bool) -> WebSocketUpgradeOutcome

  /// What the server has said, if it has refused; otherwise the given error.
  func error(unless error: RequestError) -> RequestError
}

enum WebSocketUpgradeOutcome {
  /// The server has agreed. What has arrived behind its response is in the buffer that was passed in.
  case done(HTTPResponseHead, Handshake.Agreement, rest: UnsafeRawBufferPointer)
  case blocked
  /// There may be more to read, and others are to have their turn first.
  case more
  /// The server takes no WebSocket on this connection, but may on one of its own.
  case elsewhere
  case failed(RequestError)
}

/// The response of a server that refuses, and the start of its body, which tells people why.
private struct Refusal {
  let head: HTTPResponseHead
  private var excerpt = Data()

  private static let largestExcerpt = 512

  init(_ head: HTTPResponseHead) { self.head = head }

  mutating func add(_ piece: Data) { excerpt += piece.prefix(Self.largestExcerpt - excerpt.count) }

  var isEnough: Bool { excerpt.count == Self.largestExcerpt }
  var error: RequestError { Handshake.refusal(head, body: excerpt) }
}

/// Asks the server to switch to WebSocket on a new connection (RFC 6455, section 4.1).
struct HTTP1WebSocketUpgrade: WebSocketUpgrade {
  let channel: any ByteChannel
  private let handshake: Handshake
  private var outbound: Outbound
  private var parser = HTTP1Parser(answering: .upgrade)
  private var refusal: Refusal?

  /// Takes the handshake, and the head that it begins with.
  init(_ channel: any ByteChannel, _ handshake: Handshake, _ head: [UInt8]) {
    self.channel = channel
    self.handshake = handshake
    outbound = Outbound(head)
  }

  mutating func advance(using buffer: UnsafeMutableRawBufferPointer, isOver: Bool) -> WebSocketUpgradeOutcome {
    while !outbound.isEmpty {
      switch outbound.withNext(channel.write) {
      case .taken(let count): outbound.advance(by: count)
      case .blocked: return .blocked
      case .failed(let error): return .failed(error)
      }
    }
    if case .failed(let error) = channel.flush() { return .failed(error) }
    channel.beginReading(isOver: isOver)
    var turn = ResponseTurn()
    while !turn.isOver {
      switch channel.read(into: buffer) {
      case .bytes(let count):
        turn.count(count)
        if let outcome = didReceive(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { return outcome }
      case .blocked: return .blocked
      case .end: return .failed(error(unless: .cut("before it answered the upgrade to WebSocket")))
      case .failed(let error): return .failed(self.error(unless: error))
      }
    }
    return .more
  }

  func error(unless error: RequestError) -> RequestError { refusal?.error ?? error }

  private mutating func didReceive(_ bytes: UnsafeRawBufferPointer) -> WebSocketUpgradeOutcome? {
    var parts: [HTTPResponsePart] = []
    do throws(RequestError) {
      let count = try parser.consume(bytes, into: &parts)
      for part in parts {
        switch part {
        case .head(let head) where head.status == 101:
          let rest = UnsafeRawBufferPointer(rebasing: bytes[count...])
          return .done(head, try handshake.check(head, minorVersion: parser.minorVersion), rest: rest)
        case .head(let head): refusal = Refusal(head)
        case .body(let piece): refusal?.add(piece)
        case .trailers: break
        }
      }
      guard let refusal, parser.isComplete || refusal.isEnough else { return nil }
      return .failed(refusal.error)
    } catch {
      return .failed(self.error(unless: error))
    }
  }
}

/// Asks the server for a WebSocket on a stream of a connection in HTTP/2 (RFC 8441, section 5): the exchange of the stream
/// has been begun.
struct StreamWebSocketUpgrade: WebSocketUpgrade {
  private let stream: StreamChannel
  private let handshake: Handshake
  private var refusal: Refusal?

  init(_ stream: StreamChannel, _ handshake: Handshake) {
    self.stream = stream
    self.handshake = handshake
  }

  var channel: any ByteChannel { stream }

  mutating func advance(using buffer: UnsafeMutableRawBufferPointer, isOver: Bool) -> WebSocketUpgradeOutcome {
    if refusal == nil, let head = stream.head {
      if head.isSuccess {
        do throws(RequestError) {
          let rest = UnsafeRawBufferPointer(start: nil, count: 0)
          return .done(head, try handshake.agreement(in: head), rest: rest)
        } catch {
          return .failed(error)
        }
      }
      // RFC 9220, section 3: it takes a CONNECT to other protocols, and not to this one.
      if head.status == 501 { return .elsewhere }
      refusal = Refusal(head)
    }
    while true {
      switch stream.read(into: buffer) {
      case .bytes(let count):
        refusal?.add(Data(buffer[..<count]))
        if let refusal, refusal.isEnough { return .failed(refusal.error) }
      case .blocked: return .blocked
      case .end: return .failed(error(unless: .cut("before it answered the request for a WebSocket")))
      case .failed(let error): return error.reached == .never ? .elsewhere : .failed(self.error(unless: error))
      }
    }
  }

  func error(unless error: RequestError) -> RequestError { refusal?.error ?? error }
}
