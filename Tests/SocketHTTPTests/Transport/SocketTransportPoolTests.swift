import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares
@testable import SocketHTTP

/// What becomes of requests where kept connections are dead, or there are too few connections or descriptors.
@Suite struct SocketTransportPoolTests {
  private func transport(_ change: (inout SocketTransport.Configuration) -> Void) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    change(&configuration)
    return SocketTransport(configuration: configuration)
  }

  private func patient() -> SocketTransport { transport { $0.idleTimeUnlessReplayable = .seconds(60) } }

  /// A server whose first connections answer one request each, all at the same time, and then do this; and a request
  /// that found them kept.
  private func keepConnections(
    _ kept: Int, of transport: SocketTransport, then steps: [ScriptedServer.Step]
  ) async throws -> ScriptedServer {
    let gate = Latch()
    let server = try ScriptedServer { number in
      number < kept
        ? [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}"))] + steps
        : .answering { _ in RawResponse(201) }
    }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<kept { group.addTask { try await transport.response(to: .to(server)).head.status } }
      try await server.waitForRequests(kept)
      gate.open()
      for try await status in group { #expect(status == 200) }
    }
    // Of a connection that is kept only later, the next request does not say whether it is dead.
    try await eventually { transport.statistics().total.idle == kept }
    return server
  }

  // MARK: - Dead connections

  @Test(arguments: [false, true])
  func `T10: kept connections that have fallen silent do not outlive a total deadline`(isOuter: Bool) async throws {
    let (transport, kept) = (patient(), 4)
    let server = try await keepConnections(kept, of: transport, then: [.readRequest, .waitForClientToClose])
    let limit = Duration.milliseconds(300)
    let request = try HTTPRequest.to(
      server, timeouts: HTTPTimeouts(connect: nil, idle: nil, total: isOuter ? nil : limit))
    let failure = await transport.send(request, through: isOuter ? [DeadlineMiddleware(limit)] : [])
      .collect(upTo: 1 << 10).failure
    #expect(failure?.kind == .timedOut)
    #expect(try await transport.response(to: .to(server)).head.status == 201)
    #expect(server.requests.count == kept + 2)
  }

  @Test func `T10: a slow response leaves the connections alone that have been used since`() async throws {
    let transport = patient()
    let begin = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    let server = try await keepConnections(4, of: transport, then: [.readRequest, .send(begin), .waitForClientToClose])
    let timeouts = HTTPTimeouts(connect: nil, idle: nil, total: .milliseconds(300))
    for _ in 0..<2 {
      #expect(await transport.kindOfError(for: try .to(server, timeouts: timeouts)) == .timedOut)
    }
    // The server is there: only its responses are slow.
    #expect(server.log.value.connections.count == 4)
  }

  @Test func `T10: the next request is not lost where a kept connection breaks under one that may not be resent`()
    async throws
  {
    let (transport, kept) = (patient(), 4)
    let server = try await keepConnections(kept, of: transport, then: [.readRequest, .reset])
    #expect(await transport.kindOfError(for: try .to(server)) == .connectionLost)
    #expect(try await transport.response(to: .to(server)).head.status == 201)
    #expect(server.requests.count == kept + 2)
  }

  @Test func `T10: a request that may not be sent again does not take a connection that has been idle for long`()
    async throws
  {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = transport { $0.idleTimeUnlessReplayable = .zero }
    for (isReplayable, connections) in [(false, 1), (true, 1), (false, 2), (false, 3), (true, 3)] {
      _ = try await transport.response(to: .to(server, isReplayable: isReplayable))
      #expect(server.log.value.connections.count == connections)
    }
  }

  @Test func `kept connections are closed by default before the 60 seconds of common load balancers`() {
    let configuration = SocketTransport.Configuration()
    #expect(configuration.idleTime < .seconds(60))
    #expect(configuration.idleTimeUnlessReplayable < .seconds(2))
  }

  @Test func `keep-alive probes are set on connections, as configured`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = transport {
      $0.liveness.probeAfter = .milliseconds(6500)
      $0.liveness.probeInterval = .seconds(8)
      $0.liveness.probeCount = 9
      $0.liveness.unacknowledgedTimeout = .milliseconds(1234)
    }
    _ = try await transport.response(to: .to(server))
    let socket = try #require((0..<1024).first { Self.port(of: $0) == server.port })
    func option(_ name: Int32, of level: Int32 = Int32(IPPROTO_TCP)) -> Int32 {
      var (value, length) = (Int32(-1), socklen_t(4))
      getsockopt(socket, level, name, &value, &length)
      return value
    }
    #expect(option(SO_KEEPALIVE, of: SOL_SOCKET) == 1)
    #expect(option(TCP_NODELAY) == 1)
    #expect([TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT].map { option($0) } == [7, 8, 9, 1234])
  }

  /// The port that a socket is connected to.
  private static func port(of descriptor: Int32) -> UInt16? {
    var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return result == 0 && address.sin_family == AF_INET ? UInt16(bigEndian: address.sin_port) : nil
  }

  /// Holds back what its poller reports until the gate opens.
  private final class HeldPoller: Poller {
    private let inner: any Poller
    private let gate: Latch

    init(_ gate: Latch) throws(SystemError) {
      inner = try EpollPoller()
      self.gate = gate
    }

    func add(_ descriptor: Int32, token: UInt64) throws(SystemError) { try inner.add(descriptor, token: token) }
    func wake() { inner.wake() }

    func wait(until instant: Instant?, into events: inout [PollEvent]) {
      inner.wait(until: instant, into: &events)
      guard !events.isEmpty else { return }
      let isOpen = DispatchSemaphore(value: 0)
      gate.whenOpen { isOpen.signal() }
      isOpen.wait()
    }
  }

  @Test func `a request whose new connection ends before it is written is known to be unsent`() async throws {
    let server = try ScriptedServer([.close])
    let gate = Latch()
    let transport = SocketTransport(configuration: .init(), resolver: AddressResolver()) { () throws(SystemError) in
      try HeldPoller(gate)
    }
    async let failure = transport.send(try .to(server)).collect(upTo: 1 << 10).failure
    try await server.log.wait { $0.connections.first?.isOver == true }
    gate.open()
    let error = try await failure
    #expect(error?.kind == .connectionLost)
    #expect(error?.reached == .never)
    #expect(server.log.value.connections.count == 1)
  }

  // MARK: - Too few connections

  @Test func `a server whose only connection is never free gets another, however busy others are`() async throws {
    let endless = try ScriptedServer(
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), .waitForClientToClose],
      .answering { _ in RawResponse(201) })
    let busy = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = transport { $0.maximumConnections = 2 }
    let stream = transport.send(try .to(endless)).subscribe(onError: { _ in })
    defer { stream.dispose() }
    try await endless.waitForRequests(1)
    let isOver = Latch()
    try await withThrowingTaskGroup(of: Void.self) { group in
      // So many that some always wait: the connection that they share never falls idle.
      for _ in 0..<256 {
        group.addTask { while !isOver.isOpen { _ = try await transport.response(to: .to(busy)) } }
      }
      try await busy.waitForRequests(8)
      defer { isOver.open() }
      #expect(try await transport.response(to: .to(endless)).head.status == 201)
    }
  }

  @Test func `a transport tells what its connections do, in all and for each origin`() async throws {
    let gate = Latch()
    let server = try ScriptedServer(
      [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}")), .readRequest, .send(RawResponse(body: "{}"))]
        + [.waitForClientToClose])
    let transport = transport { $0.maximumConnectionsPerOrigin = 1 }
    #expect(transport.statistics() == .init())
    let request = try HTTPRequest.to(server)
    async let first = transport.response(to: request)
    try await server.waitForRequests(1)
    let isOver = Latch()
    _ = transport.send(request).collect(upTo: 9).subscribe(
      onError: { Issue.record($0) }, onDisposed: { isOver.open() })
    let counts = SocketTransport.Statistics.Counts(busy: 1, waiting: 1)
    #expect(transport.statistics() == .init(total: counts, origins: [request.origin: counts]))
    gate.open()
    _ = try await first
    try await isOver.wait()
    #expect(transport.statistics().total == .init(idle: 1))
    await transport.shutdown()
    #expect(transport.statistics() == .init())
  }

  // MARK: - Too few descriptors

  @Test func `T7: a transport leaves four descriptors to others, such as Dispatch, which needs them`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let server = try TightServer()
      let transport = SocketTransport()
      // It makes what it needs beside connections.
      let stream = transport.send(try HTTPRequest(method: .get, url: server.url)).subscribe(onError: { _ in })
      let first = server.accept()
      let others = DescriptorLimit.reach(but: 4)
      let timeouts = HTTPTimeouts(connect: .milliseconds(300), total: .seconds(5))
      let request = try HTTPRequest(method: .get, url: server.url, timeouts: timeouts)
      let error = await #expect(throws: RequestError.self) { try await transport.response(to: request) }
      try #require(error?.isShortage == true)
      try #require(error?.reached == .never)
      // Where the machine is busy, Dispatch has one of them now and then.
      try await eventually { DescriptorLimit.free == 4 }
      for other in others { close(other) }
      async let response = transport.response(to: request)
      server.answer(server.accept())
      try #require(try await response.head.status == 200)
      stream.dispose()
      close(first)
    }
  }

  @Test func `a request that found no descriptor gets one that another part of the process has closed`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let server = try TightServer()
      let transport = SocketTransport()
      let request = try HTTPRequest(method: .get, url: server.url)
      let stream = transport.send(request).subscribe(onError: { _ in })
      let first = server.accept()
      let others = DescriptorLimit.reach(but: 4)
      async let response = transport.response(to: request)
      // It has been tried for when a request behind it has failed.
      let timeouts = HTTPTimeouts(connect: .milliseconds(300))
      let elsewhere = try HTTPRequest(method: .get, url: url("http://127.0.0.1:1/"), timeouts: timeouts)
      let error = await #expect(throws: RequestError.self) { try await transport.response(to: elsewhere) }
      try #require(error?.isShortage == true)
      // Nothing else happens that the transport could notice.
      for other in others { close(other) }
      server.answer(server.accept())
      try #require(try await response.head.status == 200)
      stream.dispose()
      close(first)
    }
  }

  @Test func `a request that found no descriptor gets that of an idle connection`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let (first, second) = (try TightServer(), try TightServer())
      let transport = SocketTransport()
      async let warmUp = transport.response(to: HTTPRequest(method: .get, url: first.url))
      let connection = first.accept()
      first.answer(connection)
      _ = try await warmUp
      let others = DescriptorLimit.reach(but: 4)
      async let response = transport.response(to: HTTPRequest(method: .get, url: second.url))
      // Ends when the client has closed, and makes room for the server's side of the other connection.
      first.readToEnd(of: connection)
      close(connection)
      second.answer(second.accept())
      try #require(try await response.head.status == 200)
      for other in others { close(other) }
    }
  }

  @Test(arguments: [EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EADDRNOTAVAIL])
  func `a shortage of this machine is not the server's fault`(code: Int32) {
    #expect(RequestError(.cannotConnect, "", cause: SystemError(code: code)).isShortage)
    #expect(!RequestError(.cannotConnect, "", cause: SystemError(code: ECONNREFUSED)).isShortage)
    #expect(!RequestError(.cannotConnect, "").isShortage)
  }
}

/// A server that takes a descriptor only when it is told to.
private struct TightServer {
  private let listener: Descriptor
  let url: URL

  init() throws {
    let (listener, port) = try Loopback.listen(backlog: 8)
    self.listener = listener
    // Connections inherit it: a client that does nothing fails the test, and does not hang it.
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(listener.number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
  }

  /// Waits for a connection, and for the request on it.
  func accept() -> Int32 {
    let connection = Foundation.accept(listener.number, nil, nil)
    var buffer = [UInt8](repeating: 0, count: 4096)
    _ = recv(connection, &buffer, buffer.count, 0)
    return connection
  }

  func answer(_ connection: Int32) {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    _ = send(connection, response, response.utf8.count, Int32(MSG_NOSIGNAL))
  }

  func readToEnd(of connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &buffer, buffer.count, 0) > 0 {}
  }
}
