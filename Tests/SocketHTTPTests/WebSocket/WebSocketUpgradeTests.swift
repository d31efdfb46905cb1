import HTTPTestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct WebSocketUpgradeTests {
  /// A server that has always sent one byte more of interim responses.
  private final class Dripping: ByteChannel {
    private static let interim = Array("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".utf8)
    private(set) var reads = 0

    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
      buffer[0] = Self.interim[reads % Self.interim.count]
      reads += 1
      return .bytes(1)
    }

    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
      .taken(first.count + second.count)
    }

    func beginReading(isOver: Bool) {}
    func flush() -> StepOutcome { .done }
    func condition() -> Socket.Condition { .readable }
    var hasEnded: Bool { false }
    func close() {}
  }

  @Test func `T6: a server that keeps sending bytes of interim responses leaves others their turn`() throws {
    let request = try WebSocketRequest(url: url("ws://127.0.0.1/"))
    let handshake = Handshake(request)
    let channel = Dripping()
    var upgrade = HTTP1WebSocketUpgrade(channel, handshake, try handshake.head(of: request, userAgent: nil))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
    defer { buffer.deallocate() }
    for turn in 1...10 {
      guard case .more = upgrade.advance(using: buffer, isOver: false) else {
        Issue.record("turn \(turn) has not ended for others")
        return
      }
      #expect(channel.reads == 16 * turn)
    }
  }
}
