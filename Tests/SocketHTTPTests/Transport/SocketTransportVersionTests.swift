import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Which version of HTTP is spoken with whom. Lines are spoken here in the place of HTTP/2.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportVersionTests {
  private let world: TLSWorld
  private let lines: [ScriptedServer.Step] = [.readRequest, .send("end 1 lines\n"), .waitForClientToClose]

  init() throws {
    world = try TLSWorld.shared.get()
  }

  private func transport(_ versions: SocketTransport.Configuration.HTTPVersions) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    configuration.httpVersions = versions
    return SocketTransport(
      configuration: configuration,
      makeHTTP: { version in
        switch version {
        case .http2: LineConnection(limit: 100)
        case .http1, nil: HTTP1Connection()
        }
      })
  }

  private func relay(to server: ScriptedServer, choosing choice: String) throws -> TLSRelay {
    var settings = TLSServerSettings(certificate: world.server)
    settings.chosenProtocol = choice
    return try TLSRelay(to: server.port, TLSServerContext(settings))
  }

  private func request(_ relay: TLSRelay) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: relay.url(), body: Data("{}".utf8), timeouts: HTTPTimeouts(total: .seconds(15)))
  }

  @Test func `what a server chooses of HTTP/2 and HTTP/1.1 is spoken`() async throws {
    let (two, one) = (try ScriptedServer(lines), try ScriptedServer(.answering { _ in RawResponse(body: "{}") }))
    let (relayToTwo, relayToOne) = (try relay(to: two, choosing: "h2"), try relay(to: one, choosing: "http/1.1"))
    let transport = transport(.negotiated)
    let versions = Locked<[String]>([])
    for relay in [relayToTwo, relayToOne] {
      var request = try request(relay)
      request.context.onConnected = { _, version, _ in versions.withLock { $0.append(version) } }
      let body = try await transport.response(to: request).body
      #expect(body == Data((relay === relayToTwo ? "lines" : "{}").utf8))
    }
    #expect(versions.withLock { $0 } == ["lines", "1.1"])
  }

  @Test func `in clear text, HTTP/2 is spoken by prior knowledge alone`() async throws {
    let (two, one) = (try ScriptedServer(lines), try ScriptedServer(.answering { _ in RawResponse(body: "{}") }))
    #expect(try await transport(.priorKnowledge).response(to: .to(two)).body == Data("lines".utf8))
    #expect(try await transport(.negotiated).response(to: .to(one)).body == Data("{}".utf8))
  }

  @Test func `a WebSocket offers HTTP/1.1 alone, where requests offer HTTP/2, too`() async throws {
    let server = try ScriptedServer(lines)
    let relay = try relay(to: server, choosing: "h2")
    let transport = transport(.negotiated)
    var address = URLComponents(url: relay.url(), resolvingAgainstBaseURL: false)
    address?.scheme = "wss"
    let url = try #require(address?.url)
    let error = await #expect(throws: RequestError.self) {
      try await transport.connect(WebSocketRequest(url: url)).value
    }
    #expect(error?.message.contains("'http/1.1' was") == true)
    #expect(try await transport.response(to: request(relay)).body == Data("lines".utf8))
  }

  @Test func `many requests that come first share the connection that is opened for HTTP/2`() async throws {
    let server = try ScriptedServer(
      Array(repeating: .readRequest, count: 50) + [
        .send((1...50).map { "end \($0) lines\n" }.joined()), .waitForClientToClose,
      ])
    let transport = transport(.priorKnowledge)
    let count = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 { group.addTask { (try? await transport.response(to: .to(server))) != nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(count == 50)
    #expect(server.log.value.connections.count == 1)
  }

  @Test func `a route whose server chooses HTTP/1.1 opens as many connections as requests need`() async throws {
    let latch = Latch()
    let server = try ScriptedServer([.readRequest, .wait(for: latch), .respond { _ in RawResponse(body: "{}") }])
    let relay = try relay(to: server, choosing: "http/1.1")
    let transport = transport(.negotiated)
    async let count = withTaskGroup(of: Bool.self) { group in
      for _ in 0..<10 { group.addTask { (try? await transport.response(to: request(relay))) != nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    try await server.waitForRequests(10)
    latch.open()
    #expect(await count == 10)
    #expect(server.log.value.connections.count == 10)
  }
}
