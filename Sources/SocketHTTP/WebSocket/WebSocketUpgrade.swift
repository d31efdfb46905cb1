import HTTPClientCore
import SystemBase

/// Asks the server to switch to WebSocket on a new connection (RFC 6455, section 4.1).
struct WebSocketUpgrade {
  enum Outcome {
    /// The server has agreed. What has arrived behind its response is in the buffer that was passed in.
    case done(HTTPResponseHead, Handshake.Agreement, rest: UnsafeRawBufferPointer)
    case blocked
    /// There may be more to read, and others are to have their turn first.
    case more
    case failed(RequestError)
  }

  let channel: any ByteChannel
  private let handshake: Handshake
  private var outbound: Outbound
  private var parser = HTTP1Parser(answering: .upgrade)
  /// The response of a server that refuses, and the start of its body, which tells people why.
  private var refusal: HTTPResponseHead?
  private var excerpt = Data()

  private static let largestExcerpt = 512
  /// How many reads follow one another before others have their turn.
  private static let mostReads = 16

  /// Takes the handshake, and the head that it begins with.
  init(_ channel: any ByteChannel, _ handshake: Handshake, _ head: [UInt8]) {
    self.channel = channel
    self.handshake = handshake
    outbound = Outbound(head)
  }

  /// Writes and reads as much as possible without blocking. `isOver` says that the peer may have stopped sending.
  mutating func advance(using buffer: UnsafeMutableRawBufferPointer, isOver: Bool) -> Outcome {
    while !outbound.isEmpty {
      switch outbound.withNext(channel.write) {
      case .taken(let count): outbound.advance(by: count)
      case .blocked: return .blocked
      case .failed(let error): return .failed(error)
      }
    }
    if case .failed(let error) = channel.flush() { return .failed(error) }
    channel.beginReading(isOver: isOver)
    for _ in 0..<Self.mostReads {
      switch channel.read(into: buffer) {
      case .bytes(let count):
        if let outcome = didReceive(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { return outcome }
      case .blocked: return .blocked
      case .end: return .failed(error(unless: .cut("before it answered the upgrade to WebSocket")))
      case .failed(let error): return .failed(self.error(unless: error))
      }
    }
    return .more
  }

  /// What the server has said, if it has refused; otherwise the given error.
  func error(unless error: RequestError) -> RequestError {
    refusal.map { Handshake.refusal($0, body: excerpt) } ?? error
  }

  private mutating func didReceive(_ bytes: UnsafeRawBufferPointer) -> Outcome? {
    var parts: [HTTPResponsePart] = []
    do throws(RequestError) {
      let count = try parser.consume(bytes, into: &parts)
      for part in parts {
        switch part {
        case .head(let head) where head.status == 101:
          let rest = UnsafeRawBufferPointer(rebasing: bytes[count...])
          return .done(head, try handshake.check(head, minorVersion: parser.minorVersion), rest: rest)
        case .head(let head): refusal = head
        case .body(let piece): excerpt += piece.prefix(Self.largestExcerpt - excerpt.count)
        }
      }
      guard let refusal, parser.isComplete || excerpt.count == Self.largestExcerpt else { return nil }
      return .failed(Handshake.refusal(refusal, body: excerpt))
    } catch {
      return .failed(self.error(unless: error))
    }
  }
}
