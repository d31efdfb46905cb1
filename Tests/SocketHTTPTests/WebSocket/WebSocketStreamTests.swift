import Foundation
import LoopbackServers
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// WebSockets on streams of connections in HTTP/2 (RFC 8441): when they are, and what becomes of the others there.
@Suite(.timeLimit(.minutes(2))) struct WebSocketStreamTests {
  private struct Server {
    let server: PythonHTTP2Server
    let transport: SocketTransport

    init(isSecure: Bool = false, isAsked: Bool = true, _ options: String...) async throws {
      server = try await PythonHTTP2Server(isSecure: isSecure, options: options)
      transport = server.transport()
      if isAsked { try await respond() }
    }

    /// Makes a request, and with it a connection.
    func respond() async throws {
      #expect(try await transport.response(to: server.request("/size?count=3")).body.count == 3)
    }

    func connect(
      _ query: String = "", subprotocols: [String] = [], _ change: (inout WebSocketRequest) -> Void = { _ in }
    ) throws -> WebSocketLog {
      let scheme = server.certificate == nil ? "ws" : "wss"
      guard let url = URL(string: "\(scheme)://127.0.0.1:\(server.port)/websocket\(query)") else {
        throw URLError(.badURL)
      }
      var request = try WebSocketRequest(url: url, subprotocols: subprotocols)
      change(&request)
      return WebSocketLog(transport.connect(request))
    }

    func counts() async throws -> PythonHTTP2Server.Counts { try await server.counts(by: transport) }
  }

  @Test(arguments: [false, true])
  func `connections share one in HTTP/2 with requests, and leave it as it was`(isSecure: Bool) async throws {
    let server = try await Server(isSecure: isSecure)
    try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          let log = try server.connect("?number=\(number)", subprotocols: ["one", "two"])
          let connection = try await log.opened()
          #expect(connection.subprotocol == "one")
          for length in [0, 1, 125, 126, 70_000] {
            try connection.send(String(repeating: "x", count: length))
            try await server.respond()
          }
          try await log.entries.wait(for: "the echoes") { $0.count == 7 }
          #expect(log.texts.dropFirst().map(\.count) == [0, 1, 125, 126, 70_000])
          try connection.close()
          #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
        }
      }
      try await group.waitForAll()
    }
    var counts = try await server.counts()
    while counts.ends != 20 { counts = try await server.counts() }
    #expect(counts.connections == 1)
    #expect(counts.resets == nil)
    #expect(counts.errors == nil)
    await server.transport.shutdown()
  }

  @Test func `the request for a stream has the fields of RFC 8441, and none of an upgrade`() async throws {
    let server = try await Server()
    let log = try server.connect(subprotocols: ["one", "two"]) {
      try? $0.headers.set("Authorization", to: "Bearer token")
      $0.compression = .perMessage
    }
    let connection = try await log.opened()
    try await log.entries.wait(for: "the fields") { $0.count == 2 }
    let fields = try JSONDecoder().decode([String: String].self, from: Data(log.texts[0].utf8))
    #expect(
      fields == [
        ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":path": "/websocket",
        ":authority": "127.0.0.1:\(server.server.port)", "authorization": "Bearer token",
        "sec-websocket-version": "13", "sec-websocket-protocol": "one, two",
        "sec-websocket-extensions": CompressionAgreement.offer(.perMessage),
        "user-agent": "SocketTransport/\(SDKVersion.current)",
      ])
    #expect(connection.head.status == 200)
    log.dispose()
  }

  // MARK: - Connections of their own

  /// The version of HTTP that a connection was opened in, by the fields of its request.
  private func isOnStream(_ log: WebSocketLog) async throws -> Bool {
    _ = try await log.opened()
    try await log.entries.wait(for: "the fields") { $0.count >= 2 }
    defer { log.dispose() }
    let fields = try JSONDecoder().decode([String: String].self, from: Data(log.texts[0].utf8))
    #expect((fields[":protocol"] == "websocket") == (fields["upgrade"] == nil))
    return fields[":protocol"] != nil
  }

  @Test func `without a connection in HTTP/2, it is one of its own`() async throws {
    let server = try await Server(isAsked: false)
    #expect(try await !isOnStream(server.connect()))
    try await server.respond()
    #expect(try await isOnStream(server.connect()))
    #expect(try await server.counts().connections == 2)
  }

  @Test(arguments: [false, true])
  func `a server that does not say that it takes streams is not asked for one`(isSecure: Bool) async throws {
    let server = try await Server(isSecure: isSecure, "--no-connect")
    #expect(try await !isOnStream(server.connect()))
    #expect(try await server.counts().streams == 2)
  }

  /// Its first connection is silent.
  @Test func `a server whose settings have not arrived is not asked for a stream`() async throws {
    let number = Monitor(0)
    let server = try WebSocketPeerServer { peer in
      let isFirst = number.update {
        $0 += 1
        return $0 == 1
      }
      if isFirst { return peer.waitForEnd() }
      try peer.accept()
      try peer.close()
    }
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    let transport = SocketTransport(configuration: configuration)
    guard let url = URL(string: "http://127.0.0.1:\(server.port)/") else { throw URLError(.badURL) }
    let exchange = ExchangeLog(transport.send(try HTTPRequest(method: .get, url: url)))
    try await number.wait(for: "the connection") { $0 == 1 }
    let log = try WebSocketLog(transport.connect(server.request()))
    #expect(try await log.opened().head.status == 101)
    exchange.subscription.dispose()
    log.dispose()
  }

  @Test func `a connection that carries all that it may is not asked for another stream`() async throws {
    let server = try await Server("--streams", "1")
    let exchange = ExchangeLog(server.transport.send(try server.server.request("/events?count=100000")))
    try await exchange.entries.wait(for: "an event") { $0.count > 1 }
    #expect(try await !isOnStream(server.connect()))
    exchange.subscription.dispose()
  }

  /// REFUSED_STREAM, HTTP_1_1_REQUIRED, GOAWAY, and a status that says that another protocol would be taken.
  @Test(arguments: ["?before=7", "?before=13", "?goaway", "?status=501"])
  func `a stream that the server has not taken becomes a connection of its own`(query: String) async throws {
    let server = try await Server()
    #expect(try await !isOnStream(server.connect(query)))
    // Requests go on in HTTP/2.
    let connections = query == "?goaway" ? 3 : 2
    #expect(try await server.counts().connections == connections)
  }

  // MARK: - Ends

  @Test func `a refusal is an error with the status and the start of the body, and others go on`() async throws {
    let server = try await Server()
    let other = try server.connect()
    let connection = try await other.opened()
    let log = try server.connect("?status=404")
    #expect(try await log.ended() == [.failed(.httpStatus)])
    #expect(log.error.value?.status == 404)
    #expect(log.error.value?.excerpt == "no WebSocket here")
    guard case .refused(let head)? = log.error.value?.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: log.error.value))")
      return
    }
    #expect(head.status == 404)
    try connection.send("still there")
    try await other.entries.wait(for: "the echo") { $0.last == .text("still there") }
    #expect(try await server.counts().connections == 1)
    other.dispose()
  }

  @Test func `a reset of the stream is an error behind what came before it, and others go on`() async throws {
    let server = try await Server()
    let other = try server.connect()
    let connection = try await other.opened()
    let log = try server.connect("?after=2")
    try await log.opened().send("last")
    let entries = try await log.ended()
    #expect(entries.suffix(2) == [.text("last"), .failed(.connectionLost)])
    try connection.send("still there")
    try await other.entries.wait(for: "the echo") { $0.last == .text("still there") }
    #expect(try await server.counts().connections == 1)
    other.dispose()
  }

  @Test func `a server that takes no more streams keeps those that are open`() async throws {
    let server = try await Server()
    let log = try server.connect()
    let connection = try await log.opened()
    _ = try await server.transport.response(to: server.server.request("/drain"))
    try connection.send("still there")
    try await log.entries.wait(for: "the echo") { $0.last == .text("still there") }
    try connection.close()
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
  }

  @Test func `a deadline and a disposal reset the stream, and nothing else`() async throws {
    let server = try await Server()
    let late = try server.connect("?hang") { $0.timeouts.upgrade = .milliseconds(100) }
    #expect(try await late.ended() == [.failed(.timedOut)])
    let disposed = try server.connect("?hang")
    while try await server.counts().streams != 5 {}
    disposed.dispose()
    while try await server.counts().resets != 2 {}
    #expect(disposed.entries.value.isEmpty)
    #expect(try await server.counts().connections == 1)
    await server.transport.shutdown()
  }

  @Test func `the connection that breaks is an error for each WebSocket on it`() async throws {
    let server = try await Server()
    let logs = try (0..<3).map { _ in try server.connect() }
    for log in logs { _ = try await log.opened() }
    _ = await server.transport.kindOfError(for: try server.server.request("/cut", method: .post, body: Data()))
    for log in logs { #expect(try await log.ended().last == .failed(.connectionLost)) }
  }

  @Test func `WebSockets count as streams, and have connections of their own beyond the limit`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport { $0.maximumStreamsPerOrigin = 1 }
    _ = try await transport.response(to: server.request("/size?count=1"))
    guard let url = URL(string: "ws://127.0.0.1:\(server.port)/websocket") else { throw URLError(.badURL) }
    let first = WebSocketLog(transport.connect(try WebSocketRequest(url: url)))
    #expect(try await first.opened().head.status == 200)
    let second = WebSocketLog(transport.connect(try WebSocketRequest(url: url)))
    #expect(try await second.opened().head.status == 101)
    first.dispose()
    second.dispose()
  }

  @Test func `messages of many threads go through a small window, whole and in order`() async throws {
    let server = try await Server("--window", "1000")
    let log = try server.connect()
    let connection = try await log.opened()
    let (senders, sizes) = (0..<8, (0..<25).map { [1, 100, 5000, 70_000][$0 % 4] })
    try await withThrowingTaskGroup { group in
      for sender in senders {
        group.addTask {
          for (round, size) in sizes.enumerated() {
            try connection.send("\(sender)-\(round)-" + String(repeating: "x", count: size))
          }
        }
      }
      try await group.waitForAll()
    }
    // Before them come its opening and a text that says what was asked for.
    try await log.entries.wait(for: "the echoes") { $0.count == 2 + senders.count * sizes.count }
    let echoes = log.texts.dropFirst().map { $0.split(separator: "-") }
    for sender in senders {
      let own = echoes.filter { $0[0] == "\(sender)" }
      #expect(own.map { $0[1] } == sizes.indices.map { "\($0)" })
      #expect(own.map { $0[2].count } == sizes)
    }
    try connection.close()
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
  }

  @Test func `a connection makes room for another server's requests`() async throws {
    let (server, other) = try await (PythonHTTP2Server(), PythonHTTP2Server())
    let transport = server.transport { $0.maximumConnections = 1 }
    _ = try await transport.response(to: server.request("/size?count=3"))
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/websocket"))
    let log = WebSocketLog(transport.connect(try WebSocketRequest(url: url)))
    _ = try await log.opened()
    for server in [other, server, other] {
      #expect(try await transport.response(to: server.request("/size?count=3")).body.count == 3)
    }
    log.dispose()
  }

  @Test func `the server's close is answered, also if its end comes with it`() async throws {
    let answer = Monitor<[UInt8]>([])
    let server = try HTTP2ScriptedServer { connection in
      guard connection.number == 1 else { return }
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.enableConnectProtocol, 1)]))
      try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true))
      let stream = try connection.readHead()
      let message: [UInt8] = [0x81, 1, 65]
      let close: [UInt8] = [0x88, 2, 3, 232]
      try connection.send(
        HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, message + close, isEnd: true))
      while true {
        let frame = try connection.readFrame()
        if frame.type == HTTP2FrameType.data { answer.update { $0 += frame.payload } }
      }
    }
    let transport = server.transport()
    _ = try await transport.response(to: server.request())
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    let log = WebSocketLog(transport.connect(try WebSocketRequest(url: url)))
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
    try await answer.wait(for: "the client's close") { $0.first == 0x88 && $0.count == 8 }
  }

  // MARK: - What is left behind

  private struct Reference: Sendable { weak var engine: SocketEngine? }

  @Test func `a connection that has ended keeps nothing of its transport`() async throws {
    let reference = try await useOnce()
    while reference.engine != nil {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  private func useOnce() async throws -> Reference {
    let server = try await Server()
    let reference = Reference(engine: server.transport.engine)
    let log = try server.connect()
    let connection = try await log.opened()
    #expect(connection.head.status == 200)
    try connection.close()
    _ = try await log.ended()
    await server.transport.shutdown()
    return reference
  }

  /// As servers do that are done with a stream (RFC 9113, section 8.1).
  @Test func `what was read behind the end of a stream is given back, also if the server has reset it`() async throws {
    let (count, messages, size) = (10, 100, 4000)
    let sent = Monitor(0)
    let server = try HTTP2ScriptedServer { connection in
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.enableConnectProtocol, 1)]))
      try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true))
      let message = [0x82, 126, UInt8(size >> 8), UInt8(size & 0xFF)] + [UInt8](repeating: 7, count: size)
      for _ in 0..<count {
        let stream = try connection.readHead()
        try connection.send(HTTP2ServerFrame.head(stream))
        for _ in 0..<messages { try connection.send(HTTP2ServerFrame.data(stream, message)) }
        try connection.send(
          HTTP2ServerFrame.data(stream, [0x88, 2, 3, 232], isEnd: true) + HTTP2ServerFrame.reset(stream, 0))
        sent.update { $0 += 1 }
      }
      let given = connection.given
      while true {
        let stream = try connection.readHead()
        let more = HTTP2ServerFrame.data(stream, "\(connection.given - given)", isEnd: true)
        try connection.send(HTTP2ServerFrame.head(stream) + more)
      }
    }
    let transport = server.transport()
    func given() async throws -> Int {
      Int(String(decoding: try await transport.response(to: server.request()).body, as: UTF8.self)) ?? 0
    }
    _ = try await transport.response(to: server.request())
    let mayRead = DispatchSemaphore(value: 0)
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    var request = try WebSocketRequest(url: url)
    request.limits.undelivered = 1
    let logs = (0..<count).map { [request] _ in
      WebSocketLog(transport.connect(request)) { entry in
        guard case .message = entry else { return }
        mayRead.wait()
        mayRead.signal()
      }
    }
    try await sent.wait(for: "what the server sends") { $0 == count }
    // What it has sent before has arrived.
    _ = try await given()
    mayRead.signal()
    for log in logs {
      #expect(try await log.ended().count == messages + 3)
    }
    while try await given() < count * messages * size / 2 {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test func `a connection is one of its own where the server takes no streams for now`() async throws {
    let (count, isLowered) = (Monitor(0), Monitor(false))
    let server = try HTTP2ScriptedServer { connection in
      count.update { $0 += 1 }
      guard connection.number == 1 else { return }
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.enableConnectProtocol, 1)]))
      try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true))
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 0)]))
      try connection.waitUntilRead()
      isLowered.update { $0 = true }
      _ = try connection.readRequest()
    }
    let transport = server.transport()
    _ = try await transport.response(to: server.request())
    try await isLowered.wait(for: "the limit") { $0 }
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    let log = WebSocketLog(transport.connect(try WebSocketRequest(url: url)))
    _ = try await log.ended()
    // It has failed with the server's first bytes, which are no response, perhaps before the connection was counted.
    try await count.wait(for: "a second connection") { $0 == 2 }
  }
}
