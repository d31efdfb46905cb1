import Foundation
import HTTPTestSupport
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Servers that send byte by byte, stall, or end their direction alone.
@Suite(.timeLimit(.minutes(5))) struct WebSocketSlowPeerTests {
  private let transport = SocketTransport()

  /// A server that plays a closure after the upgrade, and reads until the client has gone.
  private func server(_ play: @escaping @Sendable (WebSocketPeer) throws -> Void) throws -> WebSocketPeerServer {
    try WebSocketPeerServer { peer in
      try peer.accept()
      try play(peer)
      peer.waitForEnd()
    }
  }

  /// Expects that a connection fails in time, with what had come before, and is closed.
  private func expectEnd(
    _ kind: RequestError.Kind, of server: WebSocketPeerServer, after entries: [WebSocketLog.Entry] = [.opened(nil)],
    within limit: Duration = .seconds(2), _ change: (inout WebSocketTimeouts) -> Void = { _ in }
  ) async throws {
    let stopwatch = Stopwatch()
    let log = try WebSocketLog(transport.connect(server.request { change(&$0.timeouts) }))
    #expect(try await log.ended() == entries + [.failed(kind)])
    #expect(stopwatch.elapsed < limit)
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  // MARK: - Slow

  @Test func `an upgrade that drips is given up in time`() async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.drip(WebSocketPeer.acceptance(of: head, ["X-Padding: " + String(repeating: "x", count: 1000)]))
    }
    try await expectEnd(.timedOut, of: server, after: []) { $0.upgrade = .milliseconds(300) }
  }

  @Test func `an upgrade that drips and is whole in time opens the connection`() async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.drip(WebSocketPeer.acceptance(of: head) + ServerFrame.text("one"), every: 1_000)
      try peer.close()
    }
    let log = try WebSocketLog(transport.connect(server.request()))
    try await log.entries.wait(for: "the text") { $0 == [.opened(nil), .text("one")] }
    log.dispose()
  }

  enum Drip: CaseIterable {
    case head, payload, fragment, compressed, ping, close

    var bytes: [UInt8] {
      let many = [UInt8](repeating: 97, count: 100_000)
      return switch self {
      case .head: ServerFrame.bytes(1, length: [127, 0, 0, 0, 0, 0, 1, 0, 0]) + many
      case .payload: ServerFrame.bytes(1, many)
      case .fragment: ServerFrame.text("a", isFinal: false) + ServerFrame.continuation(many)
      // A stored block (RFC 1951, section 3.2.4).
      case .compressed: ServerFrame.bytes(1, [0x00, 0xFF, 0xFF, 0x00, 0x00] + many.prefix(0xFFFF), reserved: 4)
      case .ping: ServerFrame.ping(String(repeating: "p", count: 125))
      case .close: ServerFrame.close(1000, String(repeating: "c", count: 123))
      }
    }
  }

  /// Its bytes are no sign of life, or it could keep a connection for days, and answer no ping.
  @Test(arguments: Drip.allCases)
  func `T8: a server that sends a frame byte by byte without end is given up by the ping`(drip: Drip) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept(["Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover"])
      try peer.drip(drip.bytes)
    }
    let log = try WebSocketLog(
      transport.connect(
        server.request {
          $0.compression = .perMessage
          ($0.timeouts.ping, $0.timeouts.pong) = (.milliseconds(200), .milliseconds(300))
        }))
    #expect(try await log.ended() == [.opened(nil), .failed(.timedOut)])
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  /// It cannot answer a ping within a frame.
  @Test(arguments: [false, true])
  func `a server whose long message takes several times as long as a pong may is alive`(isFragmented: Bool) async throws
  {
    let text = String(repeating: "x", count: 64 << 10)
    let server = try server { peer in
      let parts = stride(from: 0, to: text.utf8.count, by: 2 << 10)
      if !isFragmented { try peer.send(Array(ServerFrame.text(text).prefix(10))) }
      for start in parts {
        let part = Array(text.utf8.dropFirst(start).prefix(2 << 10))
        let isLast = start + part.count == text.utf8.count
        try peer.send(
          isFragmented ? ServerFrame.bytes(start == 0 ? 1 : 0, part, isFinal: isLast) : part)
        usleep(60_000)
      }
      try peer.send(ServerFrame.close(1000))
    }
    let log = try WebSocketLog(
      transport.connect(
        server.request { ($0.timeouts.ping, $0.timeouts.pong) = (.milliseconds(200), .milliseconds(500)) }))
    #expect(try await log.ended().map(\.isText) == [false, true, false, false])
    #expect(log.texts == [text])
  }

  @Test func `a server that sends short messages byte by byte is alive`() async throws {
    let server = try server { peer in
      for _ in 0..<30 { try peer.drip(ServerFrame.text("a"), every: 30_000) }
      try peer.send(ServerFrame.close(1000))
    }
    let log = try WebSocketLog(
      transport.connect(
        server.request { ($0.timeouts.ping, $0.timeouts.pong) = (.milliseconds(200), .milliseconds(1_500)) }))
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
    #expect(log.texts.count == 30)
  }

  @Test func `a part of a long message is reported at most once a second, where the observer is called`() async throws {
    let (reports, isFree) = (Monitor(0), DispatchSemaphore(value: 0))
    let server = try server { peer in
      try peer.send(ServerFrame.bytes(1, length: [127, 0, 0, 0, 0, 0, 1, 0, 0]))
      for _ in 0..<32 { try peer.send([UInt8](repeating: 97, count: 1 << 10)) }
      // Too little to be a sign of life.
      usleep(1_100_000)
      try peer.send([UInt8](repeating: 97, count: 100))
      isFree.wait()
      for _ in 0..<2 { try peer.send([UInt8](repeating: 97, count: 1 << 10)) }
    }
    let log = try WebSocketLog(transport.connect(server.request { $0.onPart = { reports.update { $0 += 1 } } }))
    try await reports.wait(for: "the first part") { $0 == 1 }
    isFree.signal()
    try await reports.wait(for: "a later part") { $0 == 2 }
    #expect(log.entries.value == [.opened(nil)])
    log.dispose()
  }

  // MARK: - Half closed

  /// How much of what comes after the upgrade is sent before the server ends its direction.
  @Test(
    arguments: [
      ([], []),
      (ServerFrame.text("one"), [.text("one")]),
      (ServerFrame.text("one") + [0x81], [.text("one")]),
      (ServerFrame.bytes(1, length: [127, 0, 0, 0]), []),
      (ServerFrame.text("unfinished").dropLast(2), []),
      (ServerFrame.text("a", isFinal: false), []),
      (ServerFrame.text("a", isFinal: false) + ServerFrame.ping("p").dropLast(), []),
      (ServerFrame.close(1000, "bye").dropLast(), []),
    ] as [([UInt8], [WebSocketLog.Entry])])
  func `W4: a server that ends its direction alone ends the connection at once, with what came before`(
    bytes: [UInt8], entries: [WebSocketLog.Entry]
  ) async throws {
    let server = try server { peer in
      try peer.send(bytes)
      peer.finishSending()
    }
    try await expectEnd(.connectionLost, of: server, after: [.opened(nil)] + entries)
  }

  @Test func `W4: a server that ends its direction within the upgrade ends the connection at once`() async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.send(WebSocketPeer.acceptance(of: head).dropLast())
      peer.finishSending()
      peer.waitForEnd()
    }
    try await expectEnd(.connectionLost, of: server, after: [])
  }

  @Test func `W4: a server's end is seen behind all that an observer which was slow has to take`() async throws {
    let (isFree, isStuck) = (DispatchSemaphore(value: 0), Latch())
    let server = try server { peer in
      for number in 0..<200 { try peer.send(ServerFrame.text("\(number) " + String(repeating: "x", count: 10_000))) }
      peer.finishSending()
    }
    let log = try WebSocketLog(transport.connect(server.request { $0.limits.undelivered = 64 << 10 })) { entry in
      guard case .opened = entry else { return }
      isStuck.open()
      isFree.wait()
    }
    try await isStuck.wait()
    isFree.signal()
    #expect(try await log.ended().last == .failed(.connectionLost))
    #expect(log.texts.count == 200)
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  @Test func `W4: a server that ends its direction in place of a close ends a connection that is being closed`()
    async throws
  {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      _ = try peer.readFrame()
      peer.finishSending()
      peer.waitForEnd()
    }
    let log = try WebSocketLog(transport.connect(server.request()))
    try await log.opened().close()
    #expect(try await log.ended() == [.opened(nil), .closed(.abnormal), .completed])
    try await server.counts.wait(for: "the end", within: .seconds(2)) { $0.over == 1 }
  }
}

extension WebSocketPeer {
  /// Sends byte by byte.
  func drip(_ bytes: some Sequence<UInt8>, every pause: useconds_t = 20_000) throws {
    for byte in bytes {
      try send([byte])
      usleep(pause)
    }
  }

  /// Ends the server's direction alone.
  func finishSending() { Glibc.shutdown(socket.number, Int32(SHUT_WR)) }
}

extension WebSocketLog.Entry {
  fileprivate var isText: Bool {
    if case .message(.text) = self { true } else { false }
  }
}
