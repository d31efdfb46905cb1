import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Observers that are slow to take the response of one exchange, on a connection that others share.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportSlowObserverTests {
  private func transport(limit: Int = 8, connections: Int = 1, streams: Int = 256) -> SocketTransport {
    .lines(limit: limit, connections: connections) { $0.maximumStreamsPerOrigin = streams }
  }

  /// The credit that the client gave back for the first exchange.
  private func taken(_ server: ScriptedServer) -> [String] {
    server.requests.map(\.target).filter { $0.hasPrefix("/taken1/") }.map { String($0.dropFirst(8)) }
  }

  @Test func `T3: a slow observer withholds only its own exchange`() async throws {
    let server = try ScriptedServer([
      .readRequest, .send("part 1 a\n"), .readRequest, .send("part 1 b\nend 2 other\n"), .forever([.readRequest]),
    ])
    let transport = transport()
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    #expect(try await transport.response(to: .to(server)).body == Data("other".utf8))
    #expect(taken(server).isEmpty)
    slow.proceed()
    try await server.waitForRequests(4)
    #expect(taken(server) == ["1", "1"])
  }

  @Test func `parts that wait come in order and the end behind them, though its place is free at once`() async throws {
    let latch = Latch()
    let server = try ScriptedServer([
      .readRequest, .send("part 1 a\n"), .wait(for: latch), .send("part 1 bc\npart 1 d\nend 1 e\n"), .readRequest,
      .send("end 2 other\n"), .forever([.readRequest]),
    ])
    let transport = transport(limit: 1, streams: 0)
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    latch.open()
    #expect(try await transport.response(to: .to(server)).body == Data("other".utf8))
    #expect(slow.log.value.ends.isEmpty)
    slow.proceed()
    #expect(try await slow.ends() == [nil])
    #expect(slow.log.value.text == "abcde")
    // Each byte is credited once, even after the end, but for those of the last parts.
    try await server.waitForRequests(4)
    #expect(taken(server) == ["1", "3"])
  }

  @Test func `an exchange that is cancelled while parts wait gets none of them, and its credit is given back`()
    async throws
  {
    let server = try ScriptedServer([
      .readRequest, .send("part 1 a\n"), .readRequest, .send("part 1 bcd\nend 2 other\n"), .forever([.readRequest]),
    ])
    let transport = transport()
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    #expect(try await transport.response(to: .to(server)).body == Data("other".utf8))
    slow.subscription.dispose()
    try await server.waitForRequests(3)
    #expect(server.requests.last?.target == "/cancel1")
    slow.proceed()
    try await server.waitForRequests(5)
    #expect(taken(server) == ["1", "3"])
    #expect(slow.log.value.text == "a")
    #expect(slow.log.value.ends.isEmpty)
  }

  @Test(arguments: [
    ScriptedServer.Step.reset, .send("reset 1\n"),
  ]) func `parts that wait come before the loss of the connection, or of the exchange`(_ loss: ScriptedServer.Step)
    async throws
  {
    let server = try ScriptedServer([
      .readRequest, .send("part 1 a\n"), .readRequest, .send("part 1 b\npart 1 c\nend 2 other\n"), .readRequest, loss,
    ])
    let transport = transport()
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    #expect(try await transport.response(to: .to(server)).body == Data("other".utf8))
    #expect(await transport.kindOfError(for: try .to(server)) == .connectionLost)
    slow.proceed()
    #expect(try await slow.ends() == [.connectionLost])
    #expect(slow.log.value.text == "abc")
  }

  @Test func `the parts of many exchanges come whole and in order, and all of their credit is given back`() async throws
  {
    let (count, parts) = (20, 200)
    let lines = (0..<parts).flatMap { part in (1...count).map { "part \($0) \($0).\(part),\n" } }
    let server = try ScriptedServer(
      Array(repeating: .readRequest, count: count) + [
        .send(lines.joined() + (1...count).map { "end \($0) .\n" }.joined()), .forever([.readRequest]),
      ])
    let transport = transport(limit: count)
    let texts = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<count {
        group.addTask {
          guard let response = try? await transport.response(to: .to(server)) else { return nil }
          return String(decoding: response.body, as: UTF8.self)
        }
      }
      return await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    let expected = (1...count).map { number in (0..<parts).map { "\(number).\($0)," }.joined() + "." }
    #expect(texts == Set(expected))
    let total = expected.reduce(0) { $0 + $1.utf8.count - 1 }
    try await server.log.wait(for: "all credit", within: .seconds(20)) { log in
      log.requests.compactMap { Int($0.target.split(separator: "/").dropFirst().first ?? "") }.reduce(0, +) >= total
    }
    let credit = server.requests.compactMap { Int($0.target.split(separator: "/").dropFirst().first ?? "") }
    #expect(credit.reduce(0, +) == total)
  }

  @Test func `T6: an exchange is not idle while its observer is slow, and is again afterwards`() async throws {
    let server = try ScriptedServer([
      .readRequest, .send("part 1 a\n"), .readRequest, .send("part 1 b\n"), .forever([.readRequest]),
    ])
    let (transport, timeouts) = (transport(), HTTPTimeouts(idle: .milliseconds(200)))
    let slow = try SlowObserver(transport, server, timeouts)
    try await slow.waitUntilBlocked()
    // The deadline of a silent exchange passes meanwhile.
    #expect(await transport.kindOfError(for: try .to(server, timeouts: timeouts)) == .timedOut)
    #expect(slow.log.value.ends.isEmpty)
    slow.proceed()
    #expect(try await slow.ends() == [.timedOut])
    #expect(slow.log.value.text == "ab")
  }

  @Test func `an endless response that finds no place among the streams ends alone`() async throws {
    let server = try ScriptedServer([
      .readRequest, .readRequest, .send("events 1 data\n"), .readRequest, .send("end 2 other\n"),
      .forever([.readRequest]),
    ])
    let transport = transport(streams: 0)
    async let refused = transport.kindOfError(for: try .to(server))
    try await server.waitForRequests(1)
    async let other = transport.response(to: .to(server))
    #expect(try await refused == .overloaded)
    #expect(try await other.body == Data("other".utf8))
    #expect(server.requests[2].target == "/cancel1")
  }

  @Test func `streams are counted on a connection that others share`() async throws {
    let server = try ScriptedServer([
      .readRequest, .send("events 1 data\n"), .readRequest, .send("end 2 other\n"), .forever([.readRequest]),
    ])
    let transport = transport(streams: 1)
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    #expect(try await transport.response(to: .to(server)).body == Data("other".utf8))
    var stream = try HTTPRequest.to(server)
    stream.isStream = true
    #expect(await transport.kindOfError(for: stream) == .overloaded)
    slow.proceed()
  }

  @Test func `T8: the end behind a slow observer comes though the transport has shut down`() async throws {
    let server = try ScriptedServer([.readRequest, .send("part 1 a\n"), .send("end 1 b\n"), .waitForClientToClose])
    let transport = transport()
    let slow = try SlowObserver(transport, server)
    try await slow.waitUntilBlocked()
    async let shutdown: Void = transport.shutdown()
    try await server.waitForClientToClose()
    slow.proceed()
    #expect(try await slow.ends() == [nil])
    #expect(slow.log.value.text == "ab")
    await shutdown
  }

  @Test func `a connection that is not to be used again ends with the other exchanges that it carries`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .readRequest, .send("last 1 a\n"), .readRequest, .send("end 2 b\n"), .waitForClientToClose],
      [.readRequest, .send("end 1 c\n"), .waitForClientToClose])
    let transport = transport(connections: 2)
    async let first = transport.response(to: .to(server))
    try await server.waitForRequests(1)
    let second = try SlowObserver(transport, server)
    #expect(try await first.body == Data("a".utf8))
    #expect(try await transport.response(to: .to(server)).body == Data("c".utf8))
    second.proceed()
    second.subscription.dispose()
    try await server.waitForClientToClose(connection: 0)
  }
}

/// An observer that blocks with the first bytes of the body that it gets.
private final class SlowObserver: Sendable {
  struct Log: Sendable {
    var text = ""
    /// The kinds of the errors; `nil` for success.
    var ends: [RequestError.Kind?] = []
  }

  let log = Monitor(Log())
  let subscription: any Disposable
  private let gate: DispatchSemaphore

  init(
    _ transport: SocketTransport, _ server: ScriptedServer, _ timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(30))
  ) throws {
    let gate = DispatchSemaphore(value: 0)
    self.gate = gate
    subscription = transport.send(try .to(server, timeouts: timeouts)).subscribe(
      onNext: { [log] part in
        guard case .body(let bytes) = part else { return }
        let isFirst = log.update { log in
          log.text += String(decoding: bytes, as: UTF8.self)
          return log.text.utf8.count == bytes.count
        }
        if isFirst { gate.wait() }
      },
      onError: { [log] error in log.update { $0.ends.append(RequestError(wrapping: error).kind) } },
      onCompleted: { [log] in log.update { $0.ends.append(nil) } })
  }

  func waitUntilBlocked() async throws {
    try await log.wait(for: "the first bytes", within: .seconds(20)) { !$0.text.isEmpty }
  }

  func proceed() { gate.signal() }

  /// How it ended.
  func ends() async throws -> [RequestError.Kind?] {
    try await log.wait(for: "the end", within: .seconds(20)) { !$0.ends.isEmpty }.ends
  }
}
