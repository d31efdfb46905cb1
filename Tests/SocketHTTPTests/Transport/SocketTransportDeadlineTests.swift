import Foundation
import Streams
import SystemBase
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import HTTPMiddlewares
@testable import SocketHTTP

/// Deadlines whose time begins to count late: while somebody waits for a connection, or an observer is slow.
@Suite struct SocketTransportDeadlineTests {
  private func transport(connections: Int = 8) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.maximumConnectionsPerOrigin = connections
    return SocketTransport(configuration: configuration)
  }

  /// Returns when a deadline of that time has come on a transport.
  private func pass(_ time: Duration, on transport: SocketTransport) async throws {
    let silent = try ScriptedServer(.neverAnswering)
    let timeouts = HTTPTimeouts(connect: nil, idle: nil, total: time)
    #expect(await transport.kindOfError(for: try .to(silent, timeouts: timeouts)) == .timedOut)
  }

  @Test func `T6: the idle deadline comes on time after a wait for a connection that was longer`() async throws {
    try await expectDelay(of: .milliseconds(300)) {
      let gate = Latch()
      let server = try ScriptedServer(
        [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}")), .readRequest, .waitForClientToClose])
      let transport = transport(connections: 1)
      _ = transport.send(try .to(server)).collect(upTo: 9).subscribe()
      try await server.waitForRequests(1)
      let timeouts = HTTPTimeouts(connect: .seconds(60), idle: .milliseconds(300), total: nil)
      let outcome = Task { await transport.kindOfError(for: try .to(server, timeouts: timeouts)) }
      // The first look at the deadlines falls into the wait.
      try await pass(.milliseconds(400), on: transport)
      let start = ContinuousClock.now
      gate.open()
      #expect(try await outcome.value == .timedOut)
      return .now - start
    }
  }

  /// Each head is as large as may be, and has a field of thousands of folded lines.
  @Test func `T6: deadlines come on time while another server sends large heads of interim responses`() async throws {
    let folded = String(repeating: " a\n", count: 20_000)
    let head = "HTTP/1.1 103 Early\r\nLink: a\r\n\(folded)\r\n"
    let flood = try ScriptedServer([
      .readRequest, .send(String(repeating: head, count: 90)), .send(RawResponse(body: "{}")), .waitForClientToClose,
    ])
    let transport = transport()
    let response = Task { try await transport.response(to: .to(flood, timeouts: HTTPTimeouts(total: .seconds(50)))) }
    try await flood.waitForRequests(1)
    try await expectDelay(of: .milliseconds(100)) {
      let start = ContinuousClock.now
      try await pass(.milliseconds(100), on: transport)
      return .now - start
    }
    #expect(try await response.value.body == Data("{}".utf8))
  }

  @Test func `T6: the idle deadline comes on time after an observer that took longer`() async throws {
    try await expectDelay(of: .milliseconds(300)) {
      let server = try ScriptedServer(
        [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), .waitForClientToClose])
      let timeouts = HTTPTimeouts(connect: nil, idle: .milliseconds(300), total: nil)
      let request = try HTTPRequest.to(server, timeouts: timeouts)
      let (isOver, start) = (Latch(), Monitor<ContinuousClock.Instant?>(nil))
      let end = Monitor<ContinuousClock.Instant?>(nil)
      let hasPassed = DispatchSemaphore(value: 0)
      _ = transport().send(request).subscribe(
        onNext: { _ in
          hasPassed.wait()
          start.update { $0 = .now }
        },
        onError: { _ in
          end.update { $0 = .now }
          isOver.open()
        })
      try await pass(.milliseconds(400), on: transport())
      hasPassed.signal()
      try await isOver.wait(for: "the deadline", within: .seconds(10))
      // On a busy machine the head may be later than the deadline: that is one more time that is too late.
      guard let start = start.value else { return .seconds(10) }
      return try #require(end.value) - start
    }
  }

  @Test(arguments: [false, true])
  func `whether anything was sent is known for certain at a deadline`(isOuter: Bool) async throws {
    let (silent, away) = (try ScriptedServer(.neverAnswering), try UnansweredPort())
    let unanswered = try #require(URL(string: "http://127.0.0.1:\(away.port)/"))
    for (url, total, isUnsent) in [
      (silent.url, Duration.seconds(1), false), (unanswered, .milliseconds(300), true), (silent.url, .zero, true),
    ] {
      let timeouts = HTTPTimeouts(connect: nil, idle: nil, total: isOuter ? nil : total)
      let request = try HTTPRequest(method: .post, url: url, timeouts: timeouts)
      let deadlines = isOuter ? [DeadlineMiddleware(total)] : []
      let error = await #expect(throws: RequestError.self) {
        try await transport().send(request, through: deadlines).collect(upTo: 9).value
      }
      #expect(error?.kind == .timedOut)
      #expect((error?.reached == .never) == isUnsent)
    }
  }

  @Test func `exchanges that expire with and without a connection leave none behind`() async throws {
    let server = try ScriptedServer(.neverAnswering)
    let transport = transport(connections: 4)
    for _ in 0..<10 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let timeouts = HTTPTimeouts(connect: .milliseconds(60), idle: .milliseconds(60), total: .milliseconds(60))
            let kind = try? await transport.kindOfError(for: .to(server, timeouts: timeouts))
            #expect(kind == .timedOut)
          }
        }
      }
    }
    try await server.log.wait(for: "all connections to be closed", within: .seconds(10)) { log in
      log.connections.allSatisfy { $0.clientClosed != nil || $0.isOver }
    }
  }

  @Test func `deadlines that pass leave no timer behind while a connection is idle for long`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    var configuration = SocketTransport.Configuration()
    configuration.idleTime = .seconds(3600)
    configuration.connectionLifetime = .seconds(3600)
    let transport = SocketTransport(configuration: configuration)
    for _ in 0..<20 {
      #expect(try await transport.response(to: .to(server)).head.isSuccess)
      try await pass(.milliseconds(20), on: transport)
    }
    let count = Monitor<Int?>(nil)
    let loop = try #require(transport.engine.state.withLock { $0.loop })
    loop.submit { count.update { $0 = loop.timerCount } }
    let timers = try await count.wait { $0 != nil }
    #expect(try #require(timers) <= 2)
  }

  @Test(arguments: ["-9223372036854775808", "-1", "9223372036854775807", "99999999999999999999", "0"])
  func `a Keep-Alive time that makes no sense is ignored`(_ seconds: String) async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(headers: [("Keep-Alive", "timeout=\(seconds)")], body: "{}") })
    let transport = transport()
    for _ in 0..<2 { #expect(try await transport.response(to: .to(server)).head.status == 200) }
  }
}
