import Foundation
import HTTPTestSupport
import Streams
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// What becomes of connections between requests, and how they are made.
@Suite struct SocketTransportConnectionTests {
  private func transport(_ change: (inout SocketTransport.Configuration) -> Void) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    change(&configuration)
    return SocketTransport(configuration: configuration)
  }

  @Test func `a connection that has been idle for long enough is closed`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = transport { $0.idleTime = .milliseconds(200) }
    let start = ContinuousClock.now
    _ = try await transport.response(to: .to(server))
    #expect(try await server.waitForClientToClose(within: .seconds(20)) - start >= .milliseconds(200))
  }

  @Test(arguments: [(Duration.zero, 3), (.seconds(300), 1)])
  func `a connection that has lived its time is not used again`(lifetime: Duration, connections: Int) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = transport { $0.connectionLifetime = lifetime }
    for _ in 0..<3 { #expect(try await transport.response(to: .to(server)).head.status == 200) }
    #expect(server.log.value.connections.count == connections)
  }

  @Test func `a connection is closed a second before the server would`() async throws {
    try await expectDelay(of: .zero, leeway: .milliseconds(500)) {
      let server = try ScriptedServer(.answering { _ in RawResponse(headers: [("Keep-Alive", "timeout=1")]) })
      let (transport, start) = (SocketTransport(), ContinuousClock.now)
      _ = try await transport.response(to: .to(server))
      return try await server.waitForClientToClose() - start
    }
  }

  @Test func `T10: a dead kept connection does not make the others be tried one by one`() async throws {
    let (gate, kept) = (Latch(), 4)
    let server = try ScriptedServer { number in
      number < kept
        ? [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}")), .readRequest, .close]
        : .answering { _ in RawResponse(201) }
    }
    let transport = SocketTransport()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<kept { group.addTask { try await transport.response(to: .to(server)).head.status } }
      try await server.waitForRequests(kept)
      gate.open()
      for try await status in group { #expect(status == 200) }
    }
    #expect(try await transport.response(to: .to(server, isReplayable: true)).head.status == 201)
    // The one that died, and the one behind it.
    #expect(server.requests.count == kept + 2)
  }

  @Test func `T10: a silent kept connection does not make the others be waited for one by one`() async throws {
    let (gate, kept) = (Latch(), 4)
    let server = try ScriptedServer { number in
      number < kept
        ? [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}")), .readRequest, .waitForClientToClose]
        : .answering { _ in RawResponse(201) }
    }
    let transport = SocketTransport()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<kept { group.addTask { try await transport.response(to: .to(server)).head.status } }
      try await server.waitForRequests(kept)
      gate.open()
      for try await status in group { #expect(status == 200) }
    }
    var request = try HTTPRequest.to(server)
    request.timeouts.idle = .milliseconds(200)
    let failure = await transport.send(request).collect(upTo: 1 << 10).failure
    #expect(failure?.kind == .timedOut)
    #expect(try await transport.response(to: .to(server)).head.status == 201)
    #expect(server.requests.count == kept + 2)
  }

  @Test func `an observer learns whether a connection was used before`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = SocketTransport()
    let reuses = Monitor<[Bool]>([])
    var request = try HTTPRequest.to(server)
    request.onConnected = { isReused in reuses.update { $0.append(isReused) } }
    for count in 1...3 {
      _ = try await transport.response(to: request)
      try await reuses.wait { $0.count == count }
    }
    #expect(reuses.value == [false, true, true])
  }

  @Test func `no more connections are made than allowed, and all requests succeed`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let transport = transport { $0.maximumConnectionsPerOrigin = 2 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask { _ = try await transport.response(to: .to(server, "\(number)")) }
      }
      try await group.waitForAll()
    }
    #expect(server.log.value.connections.count == 2)
  }

  @Test func `servers share the connections that there may be in all`() async throws {
    let servers = try (0..<4).map { _ in try ScriptedServer(.answering { RawResponse(body: $0.target) }) }
    let transport = transport { $0.maximumConnections = 2 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { _ = try await transport.response(to: .to(servers[number % 4], "\(number)")) }
      }
      try await group.waitForAll()
    }
    #expect(servers.map(\.requests.count) == [50, 50, 50, 50])
  }

  @Test func `limits may be as large as can be`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let transport = transport {
      ($0.maximumConnections, $0.maximumConnectionsPerOrigin, $0.maximumStreamsPerOrigin) = (.max, .max, .max)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 { group.addTask { _ = try await transport.response(to: .to(server, "\(number)")) } }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 10)
  }

  @Test func `a response that comes before the whole request was sent is delivered, and the connection not reused`()
    async throws
  {
    let server = try ScriptedServer(
      [.readHead, .send(RawResponse(413, body: "too much")), .waitForClientToClose], .answering { _ in RawResponse() })
    let transport = SocketTransport()
    let request = try HTTPRequest(method: .post, url: server.url, body: Data(count: 32 << 20))
    #expect(try await transport.response(to: request).head.status == 413)
    #expect(try await transport.response(to: .to(server)).head.status == 200)
  }

  @Test func `a server behind a Unix domain socket is reached by its path`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).sock").path(percentEncoded: false)
    let server = try UnixServer(path: path, answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    let transport = transport { $0.unixSocketPath = path }
    let request = try HTTPRequest(method: .get, url: url("http://whatever.invalid/a"))
    for _ in 0..<2 { #expect(try await transport.response(to: request).body == Data("hello".utf8)) }
    #expect(server.heads.value.allSatisfy { $0.hasPrefix("GET /a HTTP/1.1\r\nHost: whatever.invalid\r\n") })
    let nowhere = self.transport { $0.unixSocketPath = path + ".not" }
    #expect(await nowhere.kindOfError(for: request) == .cannotConnect)
    let tooLong = self.transport { $0.unixSocketPath = String(repeating: "x", count: 300) }
    #expect(await tooLong.kindOfError(for: request) == .cannotConnect)
  }

  @Test func `a Unix domain socket whose queue is full is tried again until it has room`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).sock").path(percentEncoded: false)
    let server = try UnixServer(
      path: path, answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", queue: 1, begins: false)
    let transport = transport { $0.unixSocketPath = path }
    let request = try HTTPRequest(method: .get, url: url("http://whatever.invalid/a"))
    let (answers, starts) = (Monitor(0), 16)
    for _ in 0..<starts {
      _ = transport.send(request).collect(upTo: 9).subscribe(
        onNext: { _ in answers.update { $0 += 1 } }, onError: { Issue.record($0) })
    }
    server.begin()
    try await answers.wait { $0 == starts }
  }

  @Test func `a range is requested without a coding, since a part of a coded body could not be decoded`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(206, body: "part") })
    _ = try await SocketTransport().response(to: .to(server, headers: ["Range": "bytes=5-8"]))
    #expect(server.requests.first?["accept-encoding"] == "identity")
  }

  @Test(.timeLimit(.minutes(1)))
  func `a value that a cancelled request held may use the transport in its deinit`() async throws {
    final class Owner: Sendable { let bag = DisposeBag() }
    let (gate, first) = (Latch(), Latch())
    let server = try ScriptedServer(
      [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}")), .waitForClientToClose])
    let transport = transport { $0.maximumConnectionsPerOrigin = 1 }
    _ = transport.send(try .to(server)).subscribe(onError: { Issue.record($0) }, onDisposed: { first.open() })
    try await server.waitForRequests(1)
    do {
      let owner = Owner()
      var request = try HTTPRequest.to(server)
      request.onProgress = { _ in _ = owner }
      transport.send(request).subscribe().dispose()
      transport.send(try .to(server)).subscribe().disposed(by: owner.bag)
    }
    gate.open()
    try await first.wait(for: "the first answer", within: .seconds(5))
  }

  @Test(.timeLimit(.minutes(1)))
  func `T6: a request whose response others wait for, too, ends though a deadline of one of them has closed its gate`()
    async throws
  {
    let (held, ended) = (Latch(), Monitor<[RequestError]>([]))
    let server = try ScriptedServer([.forever([.readRequest, .wait(for: held), .send(RawResponse(body: "{}"))])])
    let transport = transport { $0.maximumConnectionsPerOrigin = 1 }
    let first = Task { try await transport.response(to: .to(server)) }
    try await server.waitForRequests(1)
    var request = try HTTPRequest.to(server)
    let gate = SendGate.Shared()
    request.context.sendGate = gate
    let subscription = transport.send(request).subscribe(
      onError: { error in ended.update { $0.append(RequestError(wrapping: error)) } })
    defer { subscription.dispose() }
    #expect(gate.cancel())
    held.open()
    _ = try await first.value
    let errors = try await ended.wait(for: "an error") { !$0.isEmpty }
    #expect(errors.map(\.kind) == [.timedOut])
    #expect(errors.map(\.reached) == [.never])
    #expect(try await transport.response(to: .to(server)).head.status == 200)
    #expect(server.requests.count == 2)
  }

  @Test func `callbacks never come on the loop's thread`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let names = Monitor<[String]>([])
    let note: @Sendable () -> Void = { names.update { $0.append(Thread.current.name ?? "") } }
    for url in [server.url, try url("http://no-such-host.invalid/")] {
      let request = try HTTPRequest(method: .get, url: url)
      _ = SocketTransport().send(request).subscribe(
        onNext: { _ in note() }, onError: { _ in note() }, onCompleted: note, onDisposed: note)
    }
    try await names.wait { $0.count == 6 }
    #expect(!names.value.contains("SocketTransport"))
  }
}

/// Answers every request on a Unix domain socket with the same bytes.
private final class UnixServer: Sendable {
  let heads = Monitor<[String]>([])
  private let path: String
  private let listener: Socket
  private let mayBegin = DispatchSemaphore(value: 0)

  init(path: String, answer: String, queue: Int32 = 8, begins: Bool = true) throws {
    self.path = path
    listener = try Socket.open(family: AF_UNIX)
    if begins { begin() }
    _ = fcntl(listener.descriptor, F_SETFL, 0)
    let address = try #require(SocketAddress(unixPath: path))
    try #require(address.withPointer { bind(listener.descriptor, $0, $1) } == 0)
    try #require(listen(listener.descriptor, queue) == 0)
    // The thread holds these parts and not the server, so that the server can be released while the thread runs.
    Thread.detachNewThread { [heads, mayBegin, listener] in
      mayBegin.wait()
      defer { close(listener.descriptor) }
      while true {
        let client = accept(listener.descriptor, nil, nil)
        guard client >= 0 else { return }
        Thread.detachNewThread {
          var buffer = [UInt8](repeating: 0, count: 4096)
          while true {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            heads.update { $0.append(String(decoding: buffer[..<count], as: UTF8.self)) }
            _ = send(client, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
          }
          close(client)
        }
      }
    }
  }

  /// Begins to take connections.
  func begin() { mayBegin.signal() }

  deinit {
    shutdown(listener.descriptor, Int32(SHUT_RDWR))
    begin()
    unlink(path)
  }
}
