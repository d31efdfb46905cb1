import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct SocketTransportShutdownTests {
  private let transport = SocketTransport()

  @Test func `a request after the shutdown is refused`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    _ = try await transport.response(to: .to(server))
    await transport.shutdown()
    await transport.shutdown()
    try await server.waitForClientToClose()
    #expect(await transport.kindOfError(for: try .to(server)) == .cannotConnect)
  }

  @Test func `a shutdown returns when the last response was delivered`() async throws {
    let server = try ScriptedServer([.readRequest, .send(RawResponse(body: "{}")), .waitForClientToClose])
    #expect(try await hasEnded(.to(server), at: server))
  }

  @Test func `a shutdown waits for an observer that is late for its error`() async throws {
    let server = try ScriptedServer(
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"), .waitForClientToClose])
    #expect(try await hasEnded(.to(server, timeouts: HTTPTimeouts(total: .milliseconds(200))), at: server))
  }

  @Test func `a shutdown waits for observers of requests that were over before they began`() async throws {
    for _ in 0..<100 {
      let (transport, hasEnded) = (SocketTransport(), Monitor(false))
      let request = try HTTPRequest(
        method: .get, url: url("http://127.0.0.1:1/"), timeouts: HTTPTimeouts(total: .zero))
      _ = transport.send(request).subscribe(onError: { _ in hasEnded.update { $0 = true } })
      await transport.shutdown()
      try #require(hasEnded.value)
    }
  }

  @Test func `a request that cannot be sent fails before it is subscribed to`() throws {
    let transport = SocketTransport(configuration: .init()) { () throws(SystemError) in throw SystemError(code: EMFILE)
    }
    let error = Locked<RequestError?>(nil)
    let request = try HTTPRequest(method: .get, url: url("http://127.0.0.1:1/"))
    _ = transport.send(request).subscribe(onError: { failure in error.withLock { $0 = failure as? RequestError } })
    #expect(error.withLock { $0?.kind } == .cannotConnect)
  }

  @Test func `a shutdown within a limit cuts off what takes longer, and says so`() async throws {
    let server = try ScriptedServer([.readRequest, .waitForClientToClose])
    async let kind = transport.kindOfError(for: .to(server))
    try await server.waitForRequests(1)
    await transport.shutdown(within: .milliseconds(100))
    #expect(try await kind == .connectionLost)
    try await server.waitForClientToClose()
  }

  @Test func `a shutdown that is cancelled cuts off the running exchanges`() async throws {
    let server = try ScriptedServer([.readRequest, .waitForClientToClose])
    async let kind = transport.kindOfError(for: .to(server))
    try await server.waitForRequests(1)
    let shutdown = Task { await transport.shutdown() }
    shutdown.cancel()
    await shutdown.value
    #expect(try await kind == .connectionLost)
  }

  @Test func `a shutdown within a limit that is not reached cuts off nothing`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    async let response = transport.response(to: .to(server))
    try await server.waitForRequests(1)
    await transport.shutdown(within: .seconds(60))
    #expect(try await response.head.status == 200)
  }

  /// Shuts down while an observer holds on to the first part, until the connection is closed; then whether it had heard
  /// of the end by the time that the shutdown returned.
  private func hasEnded(_ request: HTTPRequest, at server: ScriptedServer) async throws -> Bool {
    let (hasBegun, hasEnded, mayGoOn) = (Latch(), Monitor(false), DispatchSemaphore(value: 0))
    let parts = transport.send(request).do(onNext: { _ in
      hasBegun.open()
      mayGoOn.wait()
    })
    _ = parts.subscribe(
      onError: { _ in hasEnded.update { $0 = true } }, onCompleted: { hasEnded.update { $0 = true } })
    try await hasBegun.wait(for: "the first part", within: .seconds(30))
    let end = Task {
      await transport.shutdown()
      return hasEnded.value
    }
    try await server.waitForClientToClose()
    for _ in 0..<2 { mayGoOn.signal() }
    return await end.value
  }
}
