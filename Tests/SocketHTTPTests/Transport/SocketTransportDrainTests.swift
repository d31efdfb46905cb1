import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Connections that a server drains one after the other, as in a rolling restart.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportDrainTests {
  /// How many requests a connection of the server carries out.
  private static let most = 40

  @Test(arguments: [1, 4])
  func `of 200 requests across rolling drains none is lost, and none is carried out twice`(_ connections: Int)
    async throws
  {
    let done = (1...Self.most).flatMap { number -> [ScriptedServer.Step] in
      let drain = number == Self.most ? "limit 0\n" : ""
      return [.readRequest, .send("\(drain)end \(number) done\n")]
    }
    let refused = (Self.most + 1...Self.most + 200).flatMap { number -> [ScriptedServer.Step] in
      [.readRequest, .send("refuse \(number)\n")]
    }
    let server = try ScriptedServer(done + refused + [.waitForClientToClose])
    let transport = SocketTransport.lines(limit: 8, connections: connections)
    let texts = await withTaskGroup(of: String.self) { group in
      for number in 0..<200 {
        group.addTask {
          do {
            let response = try await transport.response(to: .to(server, "\(number)"))
            return String(decoding: response.body, as: UTF8.self)
          } catch {
            return "\(error)"
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    #expect(texts == ["done": 200])
    let byConnection = Dictionary(grouping: server.requests, by: \.connection)
    let carriedOut = byConnection.values.flatMap { $0.prefix(Self.most).map(\.target) }
    #expect(carriedOut.count == 200)
    #expect(Set(carriedOut).count == 200)
    #expect(byConnection.count >= 5)
  }

  @Test func `an idle connection that drains is closed, and the next request gets another`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .send("end 1 a\n"), .send("limit 0\n"), .waitForClientToClose],
      [.readRequest, .send("end 1 b\n"), .waitForClientToClose])
    let transport = SocketTransport.lines(limit: 8)
    #expect(try await transport.response(to: .to(server)).body == Data("a".utf8))
    try await server.waitForClientToClose(connection: 0)
    #expect(try await transport.response(to: .to(server)).body == Data("b".utf8))
  }
}
