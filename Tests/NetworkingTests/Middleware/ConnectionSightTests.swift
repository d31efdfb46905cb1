import Foundation
import HTTP
import Networking
import Streams
import Synchronization
import TestSupport
import Testing

/// Keeps what it hears of attempts.
private final class Attempts: RequestObserver {
  let summaries = Mutex<[AttemptSummary]>([])

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    { event in
      if case .attemptEnded(let summary) = event { self.summaries.withLock { $0.append(summary) } }
    }
  }
}

@Suite("Sight of real connections")
struct ConnectionSightTests {
  private static let answer = RawResponse(body: #"{"data":{"getMomentsDetailsByUserID":{"moments":[]}}}"#)

  private let attempts = Attempts()

  private func client(_ server: ScriptedServer) throws -> APIClient {
    var client = try APIClient(baseURL: server.url, transport: SocketTransport(), middlewares: .standard())
    client.observer = attempts
    return client
  }

  private var summaries: [AttemptSummary] { attempts.summaries.withLock { $0 } }

  @Test func `the first request opens a connection, and the next ones have it again`() async throws {
    let server = try ScriptedServer(.answering { _ in Self.answer })
    let client = try client(server)
    for _ in 0..<10 { _ = try await Ping().post(on: client).value }
    #expect(server.log.value.connections.count == 1)
    #expect(summaries.map(\.isConnectionReused) == [false] + Array(repeating: true, count: 9))
    for summary in summaries {
      let connectTime = try #require(summary.connectTime)
      let firstByteTime = try #require(summary.firstByteTime)
      #expect(connectTime > .zero && connectTime <= firstByteTime && firstByteTime <= summary.duration)
    }
  }

  @Test func `each attempt tells of its own connection`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .send(RawResponse(503, headers: [("Retry-After", "0"), ("Connection", "close")]))],
      .answering { _ in Self.answer })
    _ = try await Ping().post(on: client(server)).value
    #expect(summaries.map(\.status) == [503, 200])
    #expect(summaries.map(\.isConnectionReused) == [false, false])
  }

  @Test func `where no connection came to stand there is no time to tell`() async throws {
    let port = try RefusingPort()
    let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
    var client = try APIClient(baseURL: url, transport: SocketTransport())
    client.observer = attempts
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(summaries.map(\.outcome.label) == ["cannot connect"])
    #expect(summaries[0].connectTime == nil && summaries[0].isConnectionReused == nil)
  }
}
