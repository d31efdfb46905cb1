import Foundation
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What goes wrong only when two things happen at once.
@Suite struct WebSocketRaceTests {
  private static let size = TestScale.count(5_000, long: 100_000)

  private static func echo() throws -> WebSocketPeerServer {
    try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("hello"))
      while true {
        let frame = try peer.readFrame()
        guard frame.opcode != 8 else { return try peer.send(ServerFrame.bytes(8, frame.payload)) }
        try peer.send(ServerFrame.bytes(frame.opcode, frame.payload))
      }
    }
  }

  @Test(arguments: WebSocketWay.allCases)
  func `W4: thousands of connections that are disposed at random moments leave no descriptor, and deliver nothing more`(
    way: WebSocketWay
  ) async throws {
    let server = try Self.echo()
    let transport = try await way.transport(for: server.request())
    // The gateway takes longer.
    let size = way == .socket ? Self.size : Self.size / 5
    let disposed = Monitor<[(log: WebSocketLog, entries: Int)]>([])
    func run(_ count: Int) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for lane in 0..<24 {
          group.addTask {
            for _ in stride(from: lane, to: count, by: 24) {
              let log = try WebSocketLog(transport.connect(server.request()))
              switch Int.random(in: 0..<4) {
              case 0: break
              case 1: try await Task.sleep(for: .microseconds(Int.random(in: 0...1000)))
              case 2: try await log.opened().send("hello")
              default: try await log.opened().close()
              }
              log.dispose()
              disposed.update { $0.append((log, log.entries.value.count)) }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    try await run(200)
    let descriptors = try #require(ProcessUsage.current).descriptors
    try await run(size)
    await transport.shutdown()
    #expect(disposed.value.count == size + 200)
    // One event may have been on its way on another thread.
    for (log, entries) in disposed.value { #expect(log.entries.value.count <= entries + 1) }
    let end = ContinuousClock.now + .seconds(30)
    while .now < end, try #require(ProcessUsage.current).descriptors > descriptors + 8 {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try #require(ProcessUsage.current).descriptors <= descriptors + 8)
  }

  /// Several threads send, ping and close at once.
  @Test(arguments: WebSocketWay.allCases)
  func `what several threads send arrives whole, and each thread's messages in order`(way: WebSocketWay) async throws {
    let server = try Self.echo()
    let transport = try await way.transport(for: server.request())
    let log = try WebSocketLog(transport.connect(server.request()))
    let connection = try await log.opened()
    try race(8) { thread in
      for number in 0..<250 { try? connection.send("\(thread) \(number) \(String(repeating: "x", count: number * 8))") }
    }
    try await log.entries.wait(for: "the echoes") { $0.count == 2002 }
    for thread in 0..<8 {
      let numbers = log.texts.filter { $0.hasPrefix("\(thread) ") }.map { $0.split(separator: " ")[1] }
      #expect(numbers == (0..<250).map { "\($0)" })
    }
    try race(8) { _ in
      try? connection.send("more")
      try? connection.close()
    }
    let entries = try await log.ended()
    #expect(entries.suffix(2) == [.closed(.normal), .completed])
  }

  /// The server closes or resets while the client sends and closes.
  @Test(arguments: WebSocketWay.allCases)
  func `both sides that close at once end each connection once`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      switch Int.random(in: 0..<3) {
      case 0: try peer.send(ServerFrame.close(1001))
      case 1: peer.socket.resetWhenClosed()
      default: _ = try peer.close()
      }
    }
    let transport = try await way.transport(for: server.request())
    for _ in 0..<Self.size / 20 {
      let log = try WebSocketLog(transport.connect(server.request { $0.timeouts.close = .seconds(10) }))
      if let connection = try? await log.opened() {
        try? connection.send("a")
        try? connection.close()
      }
      let entries = try await log.ended()
      #expect(entries.filter(\.isEnd).count == 1)
    }
    await transport.shutdown()
  }

  @Test func `a transport that is released after its connections closes everything`() async throws {
    let server = try Self.echo()
    weak var gone: SocketTransport?
    do {
      let transport = SocketTransport()
      gone = transport
      let log = try WebSocketLog(transport.connect(server.request()))
      try await log.opened().close()
      _ = try await log.ended()
    }
    try await server.counts.wait(for: "the end") { $0.over == 1 }
    // The thread that has delivered the end holds the transport until its call returns.
    let limit = ContinuousClock.now + .seconds(10)
    while gone != nil, ContinuousClock.now < limit { await Task.yield() }
    #expect(gone == nil)
  }
}
