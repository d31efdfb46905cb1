import Foundation
import HTTPTestSupport
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Slow observers, slow servers, floods, and cuts.
@Suite struct WebSocketDeliveryTests {
  private let transport = SocketTransport()

  /// The transport stops reading, so that the rest stays with the server.
  @Test(arguments: WebSocketWay.allCases)
  func `W2: no more waits for a slow observer than the limit says, and nothing is lost`(way: WebSocketWay) async throws
  {
    let sent = Monitor(0)
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let block = [UInt8](repeating: 7, count: 64 << 10)
      for _ in 0..<400 {
        try peer.send(ServerFrame.binary(block))
        sent.update { $0 += 1 }
      }
      try peer.send(ServerFrame.close(1000))
      try peer.close()
    }
    let (isFree, isStuck) = (DispatchSemaphore(value: 0), Latch())
    let log = try await WebSocketLog(way.connect(server.request { $0.limits.undelivered = 256 << 10 })) { entry in
      guard case .opened = entry else { return }
      isStuck.open()
      isFree.wait()
    }
    try await isStuck.wait()
    // The server comes to rest when the buffers of the system are full: far from having sent all of 25 MiB.
    var last = -1
    while sent.value != last {
      last = sent.value
      try await Task.sleep(for: .milliseconds(200))
    }
    #expect(last < 300)
    isFree.signal()
    let entries = try await log.ended()
    #expect(entries.count == 403)
    #expect(entries.suffix(2) == [.closed(.normal), .completed])
  }

  /// The pings come behind messages that the observer has not taken.
  @Test(arguments: WebSocketWay.allCases)
  func `W3: pings are answered while messages wait for the observer`(way: WebSocketWay) async throws {
    let pongs = Monitor(0)
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      for number in 0..<1000 {
        try peer.send(ServerFrame.text("message \(number)") + ServerFrame.ping("\(number)"))
        if number % 100 == 99 {
          while try peer.readFrame() != .init(opcode: 10, payload: Array("\(number)".utf8)) {}
          pongs.update { $0 += 1 }
        }
      }
      try peer.send(ServerFrame.close(1000))
      try peer.close()
    }
    let isFree = DispatchSemaphore(value: 0)
    let log = try await WebSocketLog(way.connect(server.request())) { entry in
      if case .opened = entry { isFree.wait() }
    }
    try await pongs.wait(for: "the pongs") { $0 == 10 }
    #expect(log.texts.isEmpty)
    isFree.signal()
    #expect(try await log.ended().count == 1003)
    #expect(log.texts == (0..<1000).map { "message \($0)" })
  }

  /// Either of the two threads that read can find the pings and the end.
  @Test(arguments: [true, false], WebSocketWay.allCases)
  func `what a fast server sends arrives whole and in order, whichever thread reads`(isSlow: Bool, way: WebSocketWay)
    async throws
  {
    let padding = String(repeating: "x", count: 1000)
    for isClosed in [true, false] {
      let server = try WebSocketPeerServer { peer in
        try peer.accept()
        for number in 0..<10_000 {
          try peer.send(ServerFrame.text("\(number) \(padding)"))
          guard number % 5000 == 4999 else { continue }
          try peer.send(ServerFrame.ping("\(number)"))
          while try peer.readFrame() != .init(opcode: 10, payload: Array("\(number)".utf8)) {}
        }
        if isClosed {
          try peer.send(ServerFrame.close(1000))
          try peer.close()
        }
      }
      let log = try await WebSocketLog(way.connect(server.request())) { entry in
        // Longer than the loop waits for an observer.
        if isSlow, case .message(.text(let text)) = entry, text.contains("999 ") {
          Thread.sleep(forTimeInterval: 0.015)
        }
      }
      let entries = try await log.ended()
      #expect(log.texts.map { Int($0.prefix { $0 != " " }) } == Array(0..<10_000))
      #expect(log.texts.allSatisfy { $0.hasSuffix(padding) })
      #expect(entries.dropFirst(10_001) == (isClosed ? [.closed(.normal), .completed] : [.failed(.connectionLost)]))
    }
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a stuck observer does not delay another connection`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("a") + ServerFrame.close(1000))
      try peer.close()
    }
    let isFree = DispatchSemaphore(value: 0)
    let transport = try await way.transport(for: server.request())
    let stuck = try WebSocketLog(transport.connect(server.request())) { entry in
      if case .opened = entry { isFree.wait() }
    }
    try await stuck.entries.wait(for: "the first") { !$0.isEmpty }
    let other = try WebSocketLog(transport.connect(server.request()))
    #expect(try await other.ended() == [.opened(nil), .text("a"), .closed(.normal), .completed])
    #expect(stuck.entries.value == [.opened(nil)])
    isFree.signal()
    #expect(try await stuck.ended().count == 4)
  }

  @Test(arguments: WebSocketWay.allCases)
  func `W2: a server that does not read makes sending fail, and gets all that was accepted once it does`(
    way: WebSocketWay
  )
    async throws
  {
    let (mayRead, received) = (DispatchSemaphore(value: 0), Monitor(0))
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      mayRead.wait()
      while true {
        let frame = try peer.readFrame()
        guard frame.opcode == 2 else { return try peer.send(ServerFrame.bytes(8, frame.payload)) }
        received.update { $0 += 1 }
      }
    }
    let request = try server.request {
      $0.limits.unsent = 1 << 20
      // On a machine that is busy, the server takes long to read all that comes before the close.
      $0.timeouts.close = .seconds(60)
    }
    let log = try await WebSocketLog(way.connect(request))
    let connection = try await log.opened()
    var accepted = 0
    var failure: RequestError?
    do throws(RequestError) {
      while accepted < 10_000 {
        try connection.send(.binary(Data(count: 16 << 10)))
        accepted += 1
      }
    } catch {
      failure = error
    }
    #expect(failure?.kind == .overloaded)
    #expect(accepted >= 64)
    // A ping and a message of any size find no room, a close does.
    #expect(throws: RequestError.self) { try connection.send(.binary(Data(count: 1 << 20))) }
    try connection.close()
    mayRead.signal()
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
    #expect(received.value == accepted)
  }

  /// As over a slow network: the server takes two seconds for each third, and answers no ping before it has got all.
  @Test func `W2: a server that takes long for what is queued gets all of it, before a close and in spite of pings`()
    async throws
  {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for way in WebSocketWay.allCases {
        for closes in [false, true] { group.addTask { try await sendSlowly(way, closes: closes) } }
      }
      try await group.waitForAll()
    }
  }

  private func sendSlowly(_ way: WebSocketWay, closes: Bool) async throws {
    let (count, isComplete) = (24, Latch())
    // A message of a mebibyte is sent in four frames, with heads of 14 bytes; the close has 8 bytes.
    let size = count * ((1 << 20) + 4 * 14) + (closes ? 8 : 0)
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      var left = size
      for rest in [size / 3 * 2, size / 3, 0] {
        sleep(2)
        while left > rest {
          let bytes = peer.socket.receive()
          if bytes.isEmpty { return }
          left -= bytes.count
        }
      }
      isComplete.open()
      try peer.send(ServerFrame.close(1000))
      peer.waitForEnd()
    }
    let request = try server.request {
      $0.limits.unsent = 32 << 20
      $0.timeouts.close = .seconds(4)
      if !closes { ($0.timeouts.ping, $0.timeouts.pong) = (.milliseconds(100), .seconds(4)) }
    }
    let log = try await WebSocketLog(way.connect(request))
    let connection = try await log.opened()
    for _ in 0..<count { try connection.send(.binary(Data(count: 1 << 20))) }
    if closes { try connection.close() }
    #expect(try await log.ended() == [.opened(nil), .closed(.normal), .completed])
    #expect(isComplete.isOpen)
  }

  @Test(arguments: WebSocketWay.allCases)
  func `W2: a close is awaited while an observer that is behind keeps it from being read`(way: WebSocketWay)
    async throws
  {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let block = [UInt8](repeating: 7, count: 16 << 10)
      for _ in 0..<40 { try peer.send(ServerFrame.binary(block)) }
      try peer.close()
    }
    let request = try server.request {
      $0.limits.undelivered = 64 << 10
      $0.timeouts.close = .seconds(2)
    }
    let isBehind = Latch()
    let log = try await WebSocketLog(way.connect(request)) { entry in
      guard case .message = entry, !isBehind.isOpen else { return }
      isBehind.open()
      usleep(2_300_000)
    }
    try await log.opened().close()
    let entries = try await log.ended()
    #expect(entries.count == 43)
    #expect(entries.suffix(2) == [.closed(.normal), .completed])
  }

  /// What is sent is compressed on the sender's thread, which takes seconds, and not under a lock that the loop needs.
  @Test func `T6, W3: a message of 64 MiB that is compressed delays neither deadlines nor pongs`() async throws {
    let (pongs, size) = (Monitor<[Duration]>([]), Monitor(0))
    let isDone = Latch()
    let server = try WebSocketPeerServer { peer in
      try peer.accept(["Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover"])
      try peer.send(ServerFrame.text("begin"))
      while true {
        let start = ContinuousClock.now
        try peer.send(ServerFrame.ping("p"))
        while true {
          let frame = try peer.readFrame()
          if frame.opcode == 8 { return }
          if frame.opcode == 10 { break }
          size.update { $0 += frame.payload.count }
        }
        pongs.update { $0.append(ContinuousClock.now - start) }
        usleep(10_000)
      }
    }
    let silent = try ScriptedServer([.readRequest, .waitForClientToClose])
    // A megabyte of random letters, over and over: further apart than what is looked at for a repetition.
    var random = SplitMix(seed: 1)
    let block = (0..<1 << 20).map { _ in 97 + UInt8(random.next() >> 60) }
    let message = WebSocketMessage.text(String(repeating: String(decoding: block, as: UTF8.self), count: 64))
    let request = try server.request {
      $0.compression = .perMessage
      $0.limits.unsent = 64 << 20
    }
    let transport = SocketTransport()
    let log = WebSocketLog(transport.connect(request))
    let connection = try await log.opened()
    Thread.detachNewThread {
      #expect(throws: Never.self) { try connection.send(message) }
      isDone.open()
    }
    var late: [Duration] = []
    let begin = ContinuousClock.now
    repeat {
      let start = ContinuousClock.now
      let request = try HTTPRequest.to(silent, timeouts: HTTPTimeouts(total: .milliseconds(100)))
      #expect(await transport.send(request).collect(upTo: 1).failure?.kind == .timedOut)
      late.append(ContinuousClock.now - start - .milliseconds(100))
    } while !isDone.isOpen
    #expect(late.count >= 3, "the message was sent too fast to show anything")
    #expect(late.sorted()[late.count / 2] < .milliseconds(250))
    // The server takes a while to read what was sent before a pong; one that waited for the whole message would take as long
    // as that.
    let slowest = try #require(pongs.value.max())
    #expect(slowest < (ContinuousClock.now - begin) / 2)
    log.dispose()
  }

  /// Four of 15 MB came from 64 KiB.
  @Test(arguments: WebSocketWay.allCases)
  func `W2: compressed messages wait for a slow observer no further than the limit says`(way: WebSocketWay) async throws
  {
    let text = [UInt8](repeating: 97, count: 15_000_000)
    let frames = try (0..<4).flatMap { _ in try ServerFrame.compressed(text) } + ServerFrame.text("last")
    #expect(frames.count < 64 << 10)
    let server = try WebSocketPeerServer { peer in
      try peer.accept(["Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover"])
      try peer.send(frames + ServerFrame.ping("seen"))
      while try peer.readFrame().opcode != 10 {}
      try peer.send(ServerFrame.close(1000))
      try peer.close()
    }
    let (isFree, isStuck) = (DispatchSemaphore(value: 0), Latch())
    let before = Self.residentSize
    let log = try await WebSocketLog(
      way.connect(server.request { $0.compression = .perMessage })
    ) { entry in
      guard case .message(let message) = entry, message.size > 100 else { return }
      isStuck.open()
      isFree.wait()
    }
    try await isStuck.wait()
    try await Task.sleep(for: .milliseconds(300))
    // One is with the observer, and one waits; each is once more in memory at most while it is made.
    #expect(Self.residentSize - before < 55_000_000)
    for _ in 0..<4 { isFree.signal() }
    let entries = try await log.ended()
    #expect(entries.count == 8)
    #expect(log.texts.map(\.utf8.count) == [15_000_000, 15_000_000, 15_000_000, 15_000_000, 4])
  }

  /// How much memory this process has.
  private static var residentSize: Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
  }

  @Test(arguments: CuttingRelay.End.allCases)
  func `W4: a connection that is cut at any byte ends once, with what came before`(end: CuttingRelay.End) async throws {
    let frames =
      ServerFrame.text("one") + ServerFrame.ping("p") + ServerFrame.text("two") + ServerFrame.close(1001, "bye")
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.send(WebSocketPeer.acceptance(of: head) + frames)
      try peer.close()
    }
    let headSize = WebSocketPeer.acceptance(of: "").count
    let total = headSize + frames.count
    for count in 0..<total {
      let relay = try CuttingRelay(to: server.port, after: count, end)
      let request = try WebSocketRequest(url: url("ws://127.0.0.1:\(relay.port)/"))
      let entries = try await WebSocketLog(transport.connect(request)).ended()
      var expected: [WebSocketLog.Entry] = []
      if count >= headSize { expected.append(.opened(nil)) }
      if count >= headSize + 5 { expected.append(.text("one")) }
      if count >= headSize + 5 + 3 + 5 { expected.append(.text("two")) }
      guard case .failed(let kind)? = entries.last else {
        Issue.record("\(count): \(entries)")
        continue
      }
      // A reset may destroy what was not read yet.
      let isComplete = end == .reset ? expected.starts(with: entries.dropLast()) : entries.dropLast() == expected[...]
      // A reset may come before the client has seen that it is connected.
      let isCut = kind == .connectionLost || count == 0 && end == .reset && kind == .cannotConnect
      #expect(isComplete, "\(count): \(entries)")
      #expect(isCut, "\(count): \(entries)")
    }
  }

}
