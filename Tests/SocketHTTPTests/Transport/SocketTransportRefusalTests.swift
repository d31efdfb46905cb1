import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Requests that a server has certainly not processed.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportRefusalTests {
  private func transport(pause: Duration = .milliseconds(1)) -> SocketTransport {
    .lines(limit: 8) { $0.refusalBackoff = Backoff(initial: pause, maximum: pause, jitter: 0) }
  }

  private func refusals(_ numbers: ClosedRange<Int>) -> [ScriptedServer.Step] {
    numbers.flatMap { [.readRequest, .send("refuse \($0)\n")] }
  }

  private func failure(of transport: SocketTransport, _ request: HTTPRequest) async -> RequestError? {
    do {
      _ = try await transport.response(to: request)
      return nil
    } catch {
      return RequestError(wrapping: error)
    }
  }

  @Test func `T10: a refused mutation is sent again up to six times, and then fails as never processed`() async throws {
    let server = try ScriptedServer(refusals(1...7) + [.waitForClientToClose])
    let request = try HTTPRequest.to(server)
    let error = await failure(of: transport(), request)
    #expect(error?.kind == .connectionLost)
    #expect(error?.reached == .never)
    #expect(server.requests.count == 7)
  }

  @Test func `what a server refuses does not count as an attempt of the caller's`() async throws {
    let server = try ScriptedServer(refusals(1...3) + [.readRequest, .send("end 4 done\n"), .waitForClientToClose])
    var request = try HTTPRequest.to(server)
    let entry = request.entered()
    entry.limitAttempts(to: 1)
    entry.recordSending()
    #expect(try await transport().response(to: request).body == Data("done".utf8))
  }

  @Test func `a request that waits to be sent again fails at its deadline, and can be cancelled`() async throws {
    let server = try ScriptedServer(refusals(1...2) + [.forever([.readRequest])])
    let transport = transport(pause: .seconds(60))
    let request = try HTTPRequest.to(server, timeouts: HTTPTimeouts(total: .milliseconds(300)))
    let error = await failure(of: transport, request)
    #expect(error?.kind == .timedOut)
    #expect(exchanges(of: server) == 2)
    #expect(transport.engine.state.withLock { $0.pool.exchangesInFlight } == 0)

    let other = try ScriptedServer(refusals(1...2) + [.forever([.readRequest])])
    let cancelled = Task { await failure(of: transport, try .to(other)) }
    try await other.waitForRequests(2)
    cancelled.cancel()
    _ = await cancelled.result
    await transport.shutdown()
    #expect(exchanges(of: other) == 2)
  }

  /// How many exchanges have come, without what the client says of them: it cancels one whose refusal has yet to arrive.
  private func exchanges(of server: ScriptedServer) -> Int {
    server.requests.count { !$0.target.hasPrefix("/cancel") }
  }

  @Test func `a shutdown waits for a request that is to be sent again, up to its limit`() async throws {
    let server = try ScriptedServer(refusals(1...2) + [.forever([.readRequest])])
    let transport = transport(pause: .seconds(60))
    async let error = failure(of: transport, try .to(server))
    try await server.waitForRequests(2)
    await transport.shutdown(within: .milliseconds(100))
    #expect(try await error?.cause is TransportShutdown)
  }

  @Test func `a server that demands HTTP/1.1 gets the request, and all that follow, in HTTP/1.1`() async throws {
    let server = try ScriptedServer { number in
      number == 0
        ? [.readRequest, .send("http1 1\n"), .waitForClientToClose] : .answering { _ in RawResponse(body: "{}") }
    }
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configuration.idleTimeUnlessReplayable = .seconds(60)
    let transport = SocketTransport(
      configuration: configuration,
      makeHTTP: { version in
        switch version {
        case .http2: LineConnection(limit: 8)
        case .http1, nil: HTTP1Connection()
        }
      })
    for _ in 0..<3 { #expect(try await transport.response(to: .to(server)).body == Data("{}".utf8)) }
    #expect(server.requests.map(\.connection) == [0, 1, 1, 1])
  }
}
