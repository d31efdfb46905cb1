import Foundation
import HTTPTestSupport
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// A connection that carries several exchanges at a time, of which each has an end of its own.
@Suite struct SocketTransportSharingTests {
  private func transport(limit: Int, connections: Int = 1) -> SocketTransport {
    .lines(limit: limit, connections: connections)
  }

  /// The text of the response, or the error.
  private func text(
    _ transport: SocketTransport, _ server: ScriptedServer, _ path: String = "", isReplayable: Bool = false
  ) async -> Result<String, RequestError> {
    do {
      let request = try HTTPRequest.to(server, path, isReplayable: isReplayable)
      return .success(String(decoding: try await transport.response(to: request).body, as: UTF8.self))
    } catch {
      return .failure(RequestError(wrapping: error))
    }
  }

  @Test func `exchanges share a connection up to its limit, and their responses come in any order`() async throws {
    let server = try ScriptedServer([
      .readRequest, .readRequest, .readRequest, .send("end 2 second\nend 3 third\nend 1 first\n"),
      .readRequest, .send("end 4 fourth\n"), .waitForClientToClose,
    ])
    let transport = transport(limit: 3)
    let paths = ["a", "b", "c", "d"]
    let texts = await withTaskGroup(of: (String, String?).self) { group in
      for path in paths {
        group.addTask { (path, try? await text(transport, server, path).get()) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    let order = server.requests.map { String($0.target.dropFirst()) }
    #expect(order.map { texts[$0] } == ["first", "second", "third", "fourth"])
    #expect(server.log.value.connections.count == 1)
  }

  @Test func `a request that waits is sent once the limit is raised`() async throws {
    let server = try ScriptedServer([
      .readRequest, .send("limit 2\n"), .readRequest, .send("end 2 b\nend 1 a\n"), .waitForClientToClose,
    ])
    let transport = transport(limit: 1)
    async let first = text(transport, server)
    async let second = text(transport, server)
    #expect(Set([try await first.get(), try await second.get()]) == ["a", "b"])
  }

  @Test func `a connection that drains ends with what it carries, and what comes later gets another`() async throws {
    let latch = Latch()
    let server = try ScriptedServer(
      [
        .readRequest, .readRequest, .send("limit 0\nend 2 b\n"), .wait(for: latch), .send("end 1 a\n"),
        .waitForClientToClose,
      ],
      [.readRequest, .send("end 1 c\n"), .waitForClientToClose])
    let transport = transport(limit: 8, connections: 2)
    async let first = text(transport, server)
    try await server.waitForRequests(1)
    #expect(try await text(transport, server).get() == "b")
    #expect(try await text(transport, server).get() == "c")
    latch.open()
    #expect(try await first.get() == "a")
    try await server.waitForClientToClose(connection: 0)
    #expect(server.log.value.connections[1].clientClosed == nil)
  }

  @Test func `T10: a refused request is sent again, though it may not be carried out twice`() async throws {
    let server = try ScriptedServer([
      .readRequest, .send("refuse 1\n"), .readRequest, .send("end 2 done\n"), .waitForClientToClose,
    ])
    #expect(try await text(transport(limit: 8), server).get() == "done")
    #expect(server.log.value.connections.count == 1)
  }

  @Test func `an exchange that the server ends fails alone`() async throws {
    let server = try ScriptedServer([
      .readRequest, .readRequest, .send("reset 1\nend 2 b\n"), .waitForClientToClose,
    ])
    let transport = transport(limit: 8)
    async let first = text(transport, server)
    async let second = text(transport, server)
    let results = [await first, await second]
    #expect(results.compactMap { try? $0.get() } == ["b"])
    let errors = results.compactMap { result in if case .failure(let error) = result { error } else { nil } }
    #expect(errors.map(\.kind) == [.connectionLost])
    #expect(errors.map(\.reached) == [.maybe])
    #expect(transport.statistics().total.connections == 1)
  }

  @Test func `a connection that breaks loses what it carries, and each exchange is judged by itself`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .send("end 1 kept\n"), .readRequest, .readRequest, .reset],
      [.readRequest, .send("end 1 again\n"), .waitForClientToClose])
    let transport = transport(limit: 8)
    #expect(try await text(transport, server).get() == "kept")
    async let replayable = text(transport, server, isReplayable: true)
    async let other = text(transport, server)
    #expect(try await replayable.get() == "again")
    guard case .failure(let error) = await other else { return #expect(Bool(false), "it was sent twice") }
    #expect(error.kind == .connectionLost)
    #expect(error.reached == .maybe)
  }

  @Test func `an exchange that is cancelled ends alone`() async throws {
    let server = try ScriptedServer([
      .readRequest, .readRequest, .readRequest, .send("end 2 b\n"), .waitForClientToClose,
    ])
    let transport = transport(limit: 8)
    let cancelled = Task { await text(transport, server, "first") }
    try await server.waitForRequests(1)
    async let other = text(transport, server, "second")
    try await server.waitForRequests(2)
    cancelled.cancel()
    #expect(try await other.get() == "b")
    #expect(server.requests.map(\.target) == ["/first", "/second", "/cancel1"])
  }
}
