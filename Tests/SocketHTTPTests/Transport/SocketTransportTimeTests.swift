import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What a protocol does at times of its own, on a connection that others share.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportTimeTests {
  private func transport(patience: Duration) -> SocketTransport { .lines(limit: 8, patience: patience) }

  @Test func `a connection whose server is silent, even when asked, is given up with all that it carries`() async throws
  {
    let server = try ScriptedServer([.forever([.readRequest])])
    let transport = transport(patience: .milliseconds(100))
    async let first = transport.kindOfError(for: try .to(server))
    async let second = transport.kindOfError(for: try .to(server))
    #expect(try await [first, second] == [.connectionLost, .connectionLost])
    #expect(server.requests.filter { $0.target == "/ping" }.count == 1)
    try await server.waitForClientToClose()
  }

  @Test func `a connection whose server gives signs of life stays, and its stream goes on`() async throws {
    let server = try ScriptedServer([
      .readRequest, .readRequest, .send("pong 0\n"), .readRequest, .send("pong 0\n"), .readRequest,
      .send("end 1 late\n"), .waitForClientToClose,
    ])
    // On a busy machine a server's sign of life may take a while.
    let transport = transport(patience: .seconds(1))
    #expect(try await transport.response(to: .to(server)).body == Data("late".utf8))
    #expect(server.requests.dropFirst().map(\.target) == ["/ping", "/ping", "/ping"])
    #expect(transport.statistics().total.idle == 1)
  }

  @Test func `many exchanges on one connection leave one timer, and none when nothing is to be done`() async throws {
    let server = try ScriptedServer([
      .forever([.readRequest, .send((1...200).map { "end \($0) x\n" }.joined())])
    ])
    let transport = transport(patience: .milliseconds(200))
    for _ in 0..<20 { #expect(try await transport.response(to: .to(server)).head.status == 200) }
    let loop = try #require(transport.engine.state.withLock { $0.loop })
    let counts = Monitor<[Int]>([])
    loop.submit { counts.update { $0.append(loop.timerCount) } }
    // The alarm of the deadlines is one, too.
    #expect(try await counts.wait { !$0.isEmpty }.allSatisfy { $0 <= 2 })
    loop.submit {
      loop.schedule(at: .now + .milliseconds(300)) { counts.update { $0.append(loop.timerCount) } }
    }
    #expect(try await counts.wait { $0.count == 2 }.last == 1)
  }
}
