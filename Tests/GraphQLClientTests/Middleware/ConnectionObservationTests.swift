import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import SocketHTTP
import Streams
import Synchronization
import SystemBase
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

/// Opens one latch after the other, as connections are told of: a server that waits for them answers after that.
private struct ConnectionLatches: HTTPMiddleware {
  let latches = [Latch(), Latch(), Latch()]
  private let count = Locked(0)

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    var request = request
    request.onConnected = { _ in
      let number = count.withLock { count in
        defer { count += 1 }
        return count
      }
      if number < latches.count { latches[number].open() }
    }
    return next(request)
  }
}

@Suite("Observation of real connections")
struct ConnectionObservationTests {
  private static let answer = RawResponse(body: #"{"data":{"getMomentsDetailsByUserID":{"moments":[]}}}"#)

  private let attempts = Attempts()
  private let connections = ConnectionLatches()

  private func client(_ server: ScriptedServer) throws -> APIClient {
    var client = try APIClient(
      baseURL: server.url, transport: SocketTransport(), middlewares: .standard() + [connections])
    client.observer = attempts
    return client
  }

  private var summaries: [AttemptSummary] { attempts.summaries.withLock { $0 } }

  @Test func `the first request opens a connection, and the next one has it again`() async throws {
    let server = try ScriptedServer([
      .readRequest, .wait(for: connections.latches[0]), .send(Self.answer),
      .readRequest, .wait(for: connections.latches[1]), .send(Self.answer), .waitForClientToClose,
    ])
    let client = try client(server)
    for _ in 0..<2 { _ = try await Ping().post(on: client).value }
    #expect(server.log.value.connections.count == 1)
    #expect(summaries.map(\.isConnectionReused) == [false, true])
    #expect(summaries.map(\.httpVersion) == ["1.1", "1.1"])
    for summary in summaries {
      let connectTime = try #require(summary.connectTime)
      let firstByteTime = try #require(summary.firstByteTime)
      #expect(connectTime > .zero)
      #expect(connectTime <= firstByteTime)
      #expect(firstByteTime <= summary.duration)
    }
  }

  @Test func `a connection that replaces a lost one is the one that is reported`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .wait(for: connections.latches[0]), .send(Self.answer), .readRequest, .close],
      [.readRequest, .wait(for: connections.latches[2]), .send(Self.answer), .waitForClientToClose])
    let client = try client(server)
    for _ in 0..<2 { _ = try await Ping().post(on: client).value }
    #expect(server.log.value.connections.count == 2)
    #expect(summaries.map(\.isConnectionReused) == [false, false])
  }

  @Test func `a fast response does not come before the events of its connection`() async throws {
    let server = try ScriptedServer(.answering { _ in Self.answer })
    let client = try client(server)
    for _ in 0..<1000 { _ = try await Ping().post(on: client).value }
    #expect(summaries.map(\.isConnectionReused) == [false] + Array(repeating: true, count: 999))
  }

  @Test func `each attempt tells of its own connection`() async throws {
    let refusal = RawResponse(503, headers: [("Retry-After", "0"), ("Connection", "close")])
    let server = try ScriptedServer(
      [.readRequest, .wait(for: connections.latches[0]), .send(refusal)],
      [.readRequest, .wait(for: connections.latches[1]), .send(Self.answer), .waitForClientToClose])
    _ = try await Ping().post(on: client(server)).value
    #expect(summaries.map(\.status) == [503, 200])
    #expect(summaries.map(\.isConnectionReused) == [false, false])
  }

  @Test func `an attempt that was in progress at the deadline has timed out, and was not cancelled`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .never)
    let url = try #require(URL(string: "https://bff.example.com/graphql"))
    var client = try APIClient(baseURL: url, transport: transport, middlewares: .standard())
    client.timeouts.total = .milliseconds(20)
    client.observer = attempts
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(summaries.map(\.outcome.label) == ["timed out"])
  }

  @Test func `a connection that did not open has no times`() async throws {
    let port = try RefusingPort()
    let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
    var client = try APIClient(baseURL: url, transport: SocketTransport())
    client.observer = attempts
    await #expect(throws: RequestError.self) { _ = try await Ping().post(on: client).value }
    #expect(summaries.map(\.outcome.label) == ["cannot connect"])
    #expect(summaries[0].connectTime == nil)
    #expect(summaries[0].isConnectionReused == nil)
    #expect(summaries[0].httpVersion == nil)
  }
}
