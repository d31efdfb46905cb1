import TestSupport
import Testing

/// What must be right of the server before its word can count against a client.
struct ScriptedServerTests {
  @Test func `requests are recorded with head and body, by length and chunked, over one connection`() async throws {
    let server = try ScriptedServer([.readRequest, .send(RawResponse(body: "one")), .readRequest, .close])
    let sent = """
      POST /graphql?a=b HTTP/1.1\r
      Content-Length: 5\r
      x-name:  value \r
      \r
      helloPUT /c HTTP/1.1\r
      Transfer-Encoding: chunked\r
      \r
      3;extension\r
      abc\r
      A\r
      0123456789\r
      0\r
      Trailer: t\r
      \r\n
      """
    let received = try await RawHTTP.exchange([UInt8](sent.utf8), port: server.port)
    #expect(String(decoding: received, as: UTF8.self).hasSuffix("\r\n\r\none"))
    let requests = try await server.waitForRequests(2)
    #expect(requests.map(\.method) == ["POST", "PUT"])
    #expect(requests.map(\.target) == ["/graphql?a=b", "/c"])
    #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == ["hello", "abc0123456789"])
    #expect(requests[0]["X-Name"] == "value")
    #expect(requests.map(\.connection) == [0, 0])
    #expect(server.log.value.connections.count == 1)
    #expect(server.log.value.connections[0].bytesReceived == sent.utf8.count)
  }

  @Test func `each connection follows its script, and the last script counts for the rest`() async throws {
    let server = try ScriptedServer([.send("a")], [.send("b")])
    var answers: [String] = []
    for _ in 0..<3 {
      answers.append(String(decoding: try await RawHTTP.exchange([], port: server.port), as: UTF8.self))
    }
    #expect(answers == ["a", "b", "b"])
  }

  @Test func `pieces arrive whole and in order`() async throws {
    let bytes = RawResponse(body: "動態 🌅").bytes
    let server = try ScriptedServer([.send(bytes, splitAt: Array(1..<bytes.count), gap: .zero)])
    #expect(try await RawHTTP.exchange([], port: server.port) == bytes)
  }

  @Test func `chunks are what the RFC says`() async throws {
    let bytes = RawResponse(body: "0123456789abcdefXYZ").chunked(size: 16, trailers: [("T", "v")])
    #expect(
      String(decoding: bytes, as: UTF8.self).hasSuffix(
        "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n3\r\nXYZ\r\n0\r\nT: v\r\n\r\n"))
  }

  @Test func `a response can depend on the request`() async throws {
    let server = try ScriptedServer(.answering { RawResponse($0.target == "/a" ? 200 : 404, body: $0.target) })
    async let first = RawHTTP.get("/a", port: server.port)
    async let second = RawHTTP.get("/b", port: server.port)
    #expect(try await first.status == 200)
    #expect(try await second.status == 404)
    #expect(try await String(decoding: second.body, as: UTF8.self) == "/b")
  }

  @Test(
    arguments: [
      [.readRequest, .waitForClientToClose],
      [.readRequest, .wait(for: Latch())],
      [.readRequest, .readRequest],
      [.readRequest, .sendForever([0, 0])],
      [.readRequest, .drip([0, 0, 0], gap: .seconds(60))],
    ] as [[ScriptedServer.Step]])
  func `a step notices that the client has closed, whichever it is`(script: [ScriptedServer.Step]) async throws {
    let server = try ScriptedServer(script)
    let client = try RawConnection(port: server.port)
    client.send("GET / HTTP/1.1\r\n\r\n")
    try await server.waitForRequests(1)
    #expect(server.log.value.connections[0].clientClosed == nil)
    let closed = ContinuousClock.now
    client.close()
    #expect(try await server.waitForClientToClose() >= closed)
  }

  @Test func `a polite close sends no reset although bytes were left unread`() async throws {
    let server = try ScriptedServer([.readHead, .send("answer"), .close])
    let client = try RawConnection(port: server.port)
    client.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nunread...")
    #expect(client.receiveAll() == RawConnection.Received(bytes: [UInt8]("answer".utf8), end: .closed))
  }

  @Test func `a reset arrives as a reset, after the bytes before it`() async throws {
    let server = try ScriptedServer([.send("answer"), .readHead, .reset])
    let client = try RawConnection(port: server.port)
    #expect(client.receive(6) == [UInt8]("answer".utf8))
    client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(client.receiveAll() == RawConnection.Received(bytes: [], end: .reset))
  }

  @Test func `a half-closed connection still receives from the client`() async throws {
    let server = try ScriptedServer([.finishSending, .readRequest])
    let client = try RawConnection(port: server.port)
    #expect(client.receiveAll().end == .closed)
    client.send("GET /late HTTP/1.1\r\n\r\n")
    #expect(try await server.waitForRequests(1)[0].target == "/late")
  }

  @Test func `a stop ends open connections, and is not taken for the client's doing`() async throws {
    let server = try ScriptedServer([.waitForClientToClose])
    let client = try RawConnection(port: server.port)
    try await server.log.wait { $0.connections.count == 1 }
    server.stop()
    #expect(client.receiveAll().end == .closed)
    let log = try await server.log.wait { $0.connections[0].isOver }
    #expect(log.connections[0].clientClosed == nil)
    #expect(throws: (any Error).self) { try RawConnection(port: server.port) }
  }

  @Test func `a release stops the server`() async throws {
    var server: ScriptedServer? = try ScriptedServer([.waitForClientToClose])
    let client = try RawConnection(port: try #require(server).port)
    try await #require(server).log.wait { $0.connections.count == 1 }
    server = nil
    #expect(client.receiveAll().end == .closed)
  }

  @Test(arguments: ScriptedServer.Fault.all)
  func `every fault ends when the client closes or before`(fault: ScriptedServer.Fault) async throws {
    let server = try ScriptedServer(fault)
    let client = try RawConnection(port: server.port)
    client.send("GET / HTTP/1.1\r\n\r\n")
    try await server.waitForRequests(1)
    client.close()
    try await server.log.wait { $0.connections[0].isOver }
  }
}
