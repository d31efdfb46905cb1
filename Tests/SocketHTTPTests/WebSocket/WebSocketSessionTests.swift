import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// A connection against scripted peers.
@Suite struct WebSocketSessionTests {
  private let transport = SocketTransport()

  @Test(arguments: WebSocketWay.allCases)
  func `messages are sent and received, and a close of this side ends the stream with the server's code`(
    way: WebSocketWay
  )
    async throws
  {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("welcome"))
      while true {
        let frame = try peer.readFrame()
        guard frame.opcode != 8 else { return try peer.send(ServerFrame.bytes(8, frame.payload)) }
        try peer.send(ServerFrame.bytes(frame.opcode, frame.payload))
      }
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    let connection = try await log.opened()
    try connection.send("ångström")
    try connection.send(.binary(Data([1, 2, 3])))
    try await log.entries.wait(for: "the echo") { $0.count == 4 }
    try connection.close(code: .normal, reason: "done")
    #expect(
      try await log.ended() == [
        .opened(nil), .text("welcome"), .text("ångström"), .message(.binary(Data([1, 2, 3]))), .closed(.normal, "done"),
        .completed,
      ])
    let error = #expect(throws: RequestError.self) { try connection.send("late") }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reached == .never)
    try connection.close()
  }

  @Test(arguments: WebSocketWay.allCases)
  func `the upgrade carries the request's headers, the subprotocols and the user agent`(way: WebSocketWay) async throws
  {
    let heads = Monitor<[String]>([])
    let server = try WebSocketPeerServer { peer in
      let head = try peer.accept(["Sec-WebSocket-Protocol: two"])
      heads.update { $0.append(head) }
      try peer.close()
    }
    let request = try server.request("/chat?x=1", subprotocols: ["one", "two"]) {
      try $0.headers.set("Authorization", to: "Bearer token")
    }
    let log = try await WebSocketLog(way.connect(request))
    let connection = try await log.opened()
    #expect(connection.subprotocol == "two")
    #expect(connection.head.status == (way == .socket ? 101 : 200))
    let head = try await heads.wait { !$0.isEmpty }[0]
    #expect(head.hasPrefix("GET /chat?x=1 HTTP/1.1\r\n"))
    // In HTTP/2, names are in lower case.
    let lines = head.lowercased().components(separatedBy: "\r\n")
    for line in ["host: 127.0.0.1:\(server.port)", "authorization: bearer token", "sec-websocket-protocol: one, two"] {
      #expect(lines.contains(line))
    }
    #expect(lines.contains { $0.hasPrefix("user-agent: sockettransport/") })
  }

  @Test(arguments: WebSocketWay.allCases)
  func `S3: a transport with an open connection shows nothing of its request`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept(["Sec-WebSocket-Protocol: chat"])
      try peer.close()
    }
    let request = try server.request("/?key=\(canary)", subprotocols: ["chat", canary])
    let transport = try await way.transport(for: request)
    let log = WebSocketLog(transport.connect(request))
    let connection = try await log.opened()
    #expect(!everythingShown(of: transport).contains(canary))
    try connection.close()
  }

  /// The bytes behind the head of the response are the first frames.
  @Test(arguments: WebSocketWay.allCases)
  func `messages that come with the response to the upgrade are delivered`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.send(
        WebSocketPeer.acceptance(of: head) + ServerFrame.text("one") + ServerFrame.text("two")
          + ServerFrame.close(1001, "bye"))
      try peer.close()
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    #expect(
      try await log.ended() == [.opened(nil), .text("one"), .text("two"), .closed(.goingAway, "bye"), .completed])
  }

  @Test(arguments: WebSocketWay.allCases)
  func `the server's close is answered with its code, and the connection waits for the server to end it`(
    way: WebSocketWay
  )
    async throws
  {
    let answers = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.close(4001, "token expired"))
      let frame = try peer.readFrame()
      // The client has not ended the connection.
      let isOpen = (try? Loopback.isSilent(peer.socket, forMilliseconds: 50)) ?? false
      answers.update { $0 = isOpen ? [frame] : [] }
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    #expect(try await log.ended().suffix(2) == [.closed(WebSocketCloseCode(4001), "token expired"), .completed])
    try await answers.wait(for: "the answer to the close") { $0 == [.close(4001)] }
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  @Test func `the server's close is answered, also if its end comes with it`() async throws {
    let answers = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.send(WebSocketPeer.acceptance(of: head) + ServerFrame.text("last") + ServerFrame.close(1000))
      shutdown(peer.socket.number, Int32(SHUT_WR))
      let frame = try peer.readFrame()
      answers.update { $0.append(frame) }
    }
    let transport = SocketTransport()
    let count = 20
    for _ in 0..<count {
      let log = WebSocketLog(transport.connect(try server.request()))
      #expect(try await log.ended() == [.opened(nil), .text("last"), .closed(.normal), .completed])
    }
    try await server.counts.wait(for: "the ends") { $0.over == count }
    #expect(answers.value == [WebSocketPeer.Frame](repeating: .close(1000), count: count))
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that does not answer a close is dropped in time`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      peer.waitForEnd()
    }
    let log = try await WebSocketLog(way.connect(server.request { $0.timeouts.close = .milliseconds(100) }))
    try await log.opened().close()
    #expect(try await log.ended() == [.opened(nil), .closed(.abnormal), .completed])
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that does not end the connection after the close is dropped in time`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.close(1000))
      peer.waitForEnd()
    }
    let log = try await WebSocketLog(way.connect(server.request { $0.timeouts.close = .milliseconds(100) }))
    #expect(try await log.ended() == [.opened(nil), .closed(.normal), .completed])
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  @Test(arguments: [false, true], WebSocketWay.allCases)
  func `a connection that ends without a close is an error behind what came before it`(isReset: Bool, way: WebSocketWay)
    async throws
  {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("one") + ServerFrame.text("half").dropLast())
      if isReset {
        // Not before the client has read what was sent.
        _ = try peer.readFrame()
        peer.socket.resetWhenClosed()
      }
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    let connection = try await log.opened()
    try await log.entries.wait(for: "the message") { $0.count >= 2 }
    if isReset { try connection.send("read") }
    #expect(try await log.ended() == [.opened(nil), .text("one"), .failed(.connectionLost)])
    #expect(throws: RequestError.self) { try connection.send("late") }
  }

  @Test(
    arguments: [
      (ServerFrame.bytes(3), .protocolError, .badResponse),
      (ServerFrame.bytes(1, [0xFF]), .invalidData, .badResponse),
      (ServerFrame.bytes(2, [UInt8](repeating: 0, count: 2000)), .tooLarge, .tooLarge),
    ] as [([UInt8], WebSocketCloseCode, RequestError.Kind)], WebSocketWay.allCases)
  func `W1: a violation is reported to the server with its code, and is an error`(
    violation: ([UInt8], WebSocketCloseCode, RequestError.Kind), way: WebSocketWay
  ) async throws {
    let (bytes, code, kind) = violation
    let closes = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("before") + bytes)
      let frame = try peer.readFrame()
      closes.update { $0.append(frame) }
    }
    let log = try await WebSocketLog(way.connect(server.request { $0.limits.message = 1000 }))
    #expect(try await log.ended() == [.opened(nil), .text("before"), .failed(kind)])
    guard case .violation(code)? = log.error.value?.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: log.error.value))")
      return
    }
    let close = try await closes.wait(for: "the close") { !$0.isEmpty }[0]
    #expect(close.opcode == 8)
    #expect(close.payload.prefix(2) == [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)])
  }

  /// As a conformance suite expects of an echo.
  @Test(
    arguments: [
      ServerFrame.bytes(3), ServerFrame.bytes(1, [0xFF]), ServerFrame.close(1000), ServerFrame.close(1003),
    ], WebSocketWay.allCases)
  func `W1: what the observer answers to messages before the end goes out ahead of the close`(
    end: [UInt8], way: WebSocketWay
  ) async throws {
    let frames = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send((0..<20).flatMap { ServerFrame.text("\($0)") } + end)
      while true {
        let frame = try peer.readFrame()
        frames.update { $0.append(frame) }
        if frame.opcode == 8 { return }
      }
    }
    let handle = Locked<WebSocketConnection?>(nil)
    let events = try await way.connect(server.request()).do(onNext: { event in
      switch event {
      case .opened(let connection): handle.withLock { $0 = connection }
      case .message(let message): try handle.withLock { $0 }?.send(message)
      case .pong, .closed: break
      }
    })
    _ = try await WebSocketLog(events).ended()
    let all = try await frames.wait(for: "the close") { $0.last?.opcode == 8 }
    #expect(all.dropLast() == (0..<20).map { .text("\($0)") }[...])
  }

  @Test(arguments: WebSocketWay.allCases)
  func `the close after a violation waits for a stuck observer no longer than a moment`(way: WebSocketWay) async throws
  {
    let closed = Monitor<Duration?>(nil)
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("a") + ServerFrame.bytes(3))
      let start = ContinuousClock.now
      guard try peer.readFrame().opcode == 8 else { return }
      closed.update { $0 = ContinuousClock.now - start }
    }
    let isFree = DispatchSemaphore(value: 0)
    let log = try await WebSocketLog(way.connect(server.request())) { entry in
      if case .message = entry { isFree.wait() }
    }
    let time = try #require(try await closed.wait(for: "the close") { $0 != nil })
    #expect(time < .seconds(1))
    isFree.signal()
    #expect(try await log.ended().last == .failed(.badResponse))
  }

  /// RFC 6455, section 5.5.3, allows to answer the last alone.
  @Test(arguments: WebSocketWay.allCases)
  func `W3: ten pings in a row are answered by ten pongs`(way: WebSocketWay) async throws {
    let pongs = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send((0..<10).flatMap { ServerFrame.ping("payload-\($0)") })
      for _ in 0..<10 {
        let frame = try peer.readFrame()
        pongs.update { $0.append(frame) }
      }
      try peer.close()
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    let all = try await pongs.wait(for: "the pongs") { $0.count == 10 }
    #expect(all == (0..<10).map { .init(opcode: 10, payload: Array("payload-\($0)".utf8)) })
    log.dispose()
  }

  // MARK: - Refusals

  @Test func `a switch of protocols in HTTP/1.0 is refused`() async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      let response = String(decoding: WebSocketPeer.acceptance(of: head), as: UTF8.self)
      try peer.send(Array(response.replacing("HTTP/1.1", with: "HTTP/1.0").utf8))
      peer.waitForEnd()
    }
    let log = try WebSocketLog(transport.connect(server.request()))
    #expect(try await log.ended() == [.failed(.badResponse)])
    guard case .badHandshake? = log.error.value?.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: log.error.value))")
      return
    }
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that refuses is an error with the status, Retry-After and the start of the body`(way: WebSocketWay)
    async throws
  {
    let server = try WebSocketPeerServer { peer in
      _ = try peer.readHead()
      try peer.send(
        Array("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 12\r\n\r\ncome again \u{1B}".utf8))
    }
    let log = try await WebSocketLog(way.connect(server.request { $0.operationName = "live" }))
    #expect(try await log.ended() == [.failed(.httpStatus)])
    let error = try #require(log.error.value)
    #expect(error.status == 503)
    #expect(error.retryAfter == .seconds(7))
    #expect(error.operationName == "live")
    #expect(error.excerpt?.hasPrefix("come again") == true)
    guard case .refused(let head)? = error.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: error.cause))")
      return
    }
    #expect(head.headers["Retry-After"] == "7")
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that refuses and never ends its body is an error with what came of it`(way: WebSocketWay) async throws
  {
    let server = try WebSocketPeerServer { peer in
      _ = try peer.readHead()
      try peer.send(Array("HTTP/1.1 401 No\r\nContent-Length: 99\r\n\r\nno token".utf8))
      peer.waitForEnd()
    }
    // On a busy machine the response may take a while.
    let log = try await WebSocketLog(way.connect(server.request { $0.timeouts.upgrade = .seconds(1) }))
    #expect(try await log.ended() == [.failed(.httpStatus)])
    #expect(log.error.value?.status == 401)
    #expect(log.error.value?.excerpt == "no token")
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a subprotocol that was not offered is an error, and the connection is closed`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept(["Sec-WebSocket-Protocol: graphql-ws"])
      peer.waitForEnd()
    }
    let log = try await WebSocketLog(way.connect(server.request(subprotocols: ["graphql-transport-ws"])))
    #expect(try await log.ended() == [.failed(.badResponse)])
    guard case .wrongSubprotocol("graphql-ws")? = log.error.value?.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: log.error.value))")
      return
    }
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  // MARK: - Deadlines

  @Test func `a server that accepts no connection is given up in time`() async throws {
    let port = try UnansweredPort()
    var request = try WebSocketRequest(url: url("ws://127.0.0.1:\(port.port)/"))
    request.timeouts.connect = .milliseconds(200)
    let start = ContinuousClock.now
    let log = WebSocketLog(transport.connect(request))
    #expect(try await log.ended() == [.failed(.timedOut)])
    #expect(log.error.value?.reached == .never)
    #expect(ContinuousClock.now - start >= .milliseconds(195))
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that does not respond to the upgrade is dropped in time`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      let head = try peer.readHead()
      try peer.send(WebSocketPeer.acceptance(of: head).dropLast())
      peer.waitForEnd()
    }
    let log = try await WebSocketLog(way.connect(server.request { $0.timeouts.upgrade = .milliseconds(100) }))
    #expect(try await log.ended() == [.failed(.timedOut)])
    #expect(log.error.value?.message.contains("upgrade") == true)
    try await server.counts.wait(for: "the end") { $0.over == 1 }
  }

  @Test func `a refused connection is an error`() async throws {
    let port = try RefusingPort()
    let log = WebSocketLog(transport.connect(try WebSocketRequest(url: url("ws://127.0.0.1:\(port.port)/"))))
    #expect(try await log.ended() == [.failed(.cannotConnect)])
  }

  /// Its machine is away: nothing comes back, and no FIN either.
  @Test func `a silent server gets a ping, and is dropped if no pong comes`() async throws {
    let frames = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      for _ in 0..<3 {
        let frame = try peer.readFrame()
        frames.update { $0.append(frame) }
        try peer.send(ServerFrame.bytes(10, frame.payload))
      }
      peer.waitForEnd()
    }
    let request = try server.request {
      $0.timeouts.ping = .milliseconds(50)
      // On a busy machine a pong may take a while.
      $0.timeouts.pong = .seconds(2)
    }
    let log = WebSocketLog(transport.connect(request))
    let pongs = [WebSocketLog.Entry](repeating: .pong(Data()), count: 3)
    #expect(try await log.ended() == [.opened(nil)] + pongs + [.failed(.timedOut)])
    #expect(frames.value == [WebSocketPeer.Frame](repeating: .init(opcode: 9, payload: []), count: 3))
  }

  // MARK: - Disposal

  @Test(arguments: WebSocketWay.allCases)
  func `W4: a disposed connection is closed with code 1000, and nothing more is delivered`(way: WebSocketWay)
    async throws
  {
    let closes = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let close = try peer.close()
      closes.update { $0.append(close) }
      for _ in 0..<100 { try peer.send(ServerFrame.text("late")) }
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    let connection = try await log.opened()
    log.dispose()
    try await closes.wait(for: "the close") { $0 == [.close(1000)] }
    try await server.counts.wait(for: "the end") { $0.over == 1 }
    #expect(log.entries.value == [.opened(nil)])
    #expect(throws: RequestError.self) { try connection.send("late") }
  }

  @Test func `W4: a connection that is disposed while it dials or upgrades is closed`() async throws {
    let server = try WebSocketPeerServer { peer in
      _ = try peer.readHead()
      peer.waitForEnd()
    }
    let upgrading = try WebSocketLog(transport.connect(server.request()))
    try await server.counts.wait(for: "the connection") { $0.accepted == 1 }
    upgrading.dispose()
    try await server.counts.wait(for: "the end") { $0.over == 1 }
    let port = try UnansweredPort()
    let dialling = WebSocketLog(transport.connect(try WebSocketRequest(url: url("ws://127.0.0.1:\(port.port)/"))))
    dialling.dispose()
    #expect(upgrading.entries.value.isEmpty)
    #expect(dialling.entries.value.isEmpty)
    await transport.shutdown()
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a server that sends without end after the disposal is cut off`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let block = (0..<64).flatMap { _ in ServerFrame.binary([UInt8](repeating: 0, count: 1024)) }
      while true { try peer.send(block) }
    }
    let log = try await WebSocketLog(way.connect(server.request()))
    _ = try await log.opened()
    log.dispose()
    try await server.counts.wait(for: "the end", within: .seconds(4)) { $0.over == 1 }
  }

  // MARK: - Shutting down

  @Test(arguments: WebSocketWay.allCases)
  func `a shutdown closes connections with code 1001, and returns when their observers know`(way: WebSocketWay)
    async throws
  {
    let closes = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let close = try peer.close()
      closes.update { $0.append(close) }
    }
    let transport = try await way.transport(for: server.request())
    let log = try WebSocketLog(transport.connect(server.request()))
    _ = try await log.opened()
    await transport.shutdown()
    #expect(log.entries.value == [.opened(nil), .closed(.goingAway), .completed])
    #expect(closes.value == [.close(1001)])
    let late = try WebSocketLog(transport.connect(server.request()))
    #expect(late.entries.value == [.failed(.cannotConnect)])
  }

  @Test(arguments: WebSocketWay.allCases)
  func `those who asked for it are notified of a shutdown, and can send and close before connections end`(
    way: WebSocketWay
  )
    async throws
  {
    let frames = Monitor<[WebSocketPeer.Frame]>([])
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      let text = try peer.readFrame()
      frames.update { $0.append(text) }
      let close = try peer.close()
      frames.update { $0.append(close) }
    }
    let transport = try await way.transport(for: server.request())
    let log = try WebSocketLog(transport.connect(server.request()))
    let connection = try await log.opened()
    let disposed = transport.onShutdown { _ in Issue.record("It was disposed.") }
    disposed.dispose()
    let bag = DisposeBag()
    bag.insert(
      transport.onShutdown { done in
        try? connection.send("goodbye")
        try? connection.close(code: .normal)
        done()
      })
    await transport.shutdown()
    #expect(log.entries.value == [.opened(nil), .closed(.normal), .completed])
    #expect(frames.value.count == 2)
    #expect(frames.value.last == .close(1000))
    bag.insert(transport.onShutdown { _ in Issue.record("The shutdown has begun before.") })
  }

  @Test func `a shutdown waits a second for those who were notified, or less within a limit`() async throws {
    for (limit, expected) in [(nil, Duration.seconds(1)), (Duration.milliseconds(50), .milliseconds(50))] {
      let transport = SocketTransport()
      let server = try WebSocketPeerServer { peer in
        try peer.accept()
        _ = try peer.close()
      }
      let log = try WebSocketLog(transport.connect(server.request()))
      _ = try await log.opened()
      let registration = transport.onShutdown { _ in }
      let clock = ContinuousClock()
      let start = clock.now
      await transport.shutdown(within: limit)
      #expect(clock.now - start >= expected)
      #expect(log.entries.value.count == 3)
      registration.dispose()
    }
  }

  @Test func `those who asked for it are notified by a transport that was never used, too`() async {
    let count = Monitor(0)
    let registration = transport.onShutdown { done in
      count.update { $0 += 1 }
      done()
      done()
    }
    await transport.shutdown()
    await transport.shutdown()
    #expect(count.value == 1)
    registration.dispose()
  }

  @Test(arguments: WebSocketWay.allCases)
  func `a shutdown within a limit cuts off a server that does not answer`(way: WebSocketWay) async throws {
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      peer.waitForEnd()
    }
    let transport = try await way.transport(for: server.request())
    let log = try WebSocketLog(transport.connect(server.request()))
    _ = try await log.opened()
    await transport.shutdown(within: .milliseconds(100))
    #expect(log.entries.value == [.opened(nil), .closed(.abnormal), .completed])
  }
}

extension Loopback {
  /// Whether neither bytes nor the end come within a time.
  static func isSilent(_ socket: Descriptor, forMilliseconds limit: Int32) throws -> Bool {
    var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, limit) == 0
  }
}
