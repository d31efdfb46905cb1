import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite(.timeLimit(.minutes(1))) struct ConnectionOpeningTimesTests {
  private let world: TLSWorld
  private let openings = Locked<[ConnectionOpeningTimes?]>([])

  init() throws {
    world = try TLSWorld.shared.get()
  }

  private func send(to url: URL, by transport: SocketTransport) async throws {
    var request = try HTTPRequest(
      method: .post, url: url, body: Data("{}".utf8), timeouts: HTTPTimeouts(total: .seconds(15)))
    request.context.onConnected = { [openings] _, _, opening in openings.withLock { $0.append(opening) } }
    _ = try await transport.send(request).collect(upTo: 1 << 20).value
  }

  private func configuration() -> SocketTransport.Configuration {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    configuration.resolver = { ["server.test": ["127.0.0.1"]][$0] }
    return configuration
  }

  @Test func `a connection to a name over TLS has times of all steps, for its first request`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let relay = try TLSRelay(to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server)))
    let transport = SocketTransport(configuration: configuration())
    let url = try #require(URL(string: "https://server.test:\(relay.port)/"))
    for _ in 0..<2 { try await send(to: url, by: transport) }
    let all = openings.withLock { $0 }
    #expect(all.count == 2 && all[1] == nil)
    let opening = try #require(all[0])
    #expect(try #require(opening.lookUp) > .zero && opening.connect > .zero && opening.idle >= .zero)
    #expect(try #require(opening.tls) > .zero && opening.tunnel == nil)
    #expect("\(opening)".hasPrefix("look-up ") && "\(opening)".contains(", TLS "))
  }

  @Test func `a connection to an address in clear text has no times of what it does not need`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    try await send(to: server.url, by: SocketTransport())
    let opening = try #require(openings.withLock { $0 }[0])
    #expect(opening.lookUp == nil && opening.tls == nil && opening.tunnel == nil && opening.connect > .zero)
    #expect(opening.total == opening.connect)
  }

  @Test func `the tunnel through a proxy is a step of its own`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let relay = try TLSRelay(
      to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server)),
      tunnelAnswer: "HTTP/1.1 200 OK\r\n\r\n")
    var configuration = configuration()
    configuration.proxy = ProxyConfiguration(https: "http://127.0.0.1:\(relay.port)")
    try await send(to: #require(URL(string: "https://server.test/")), by: SocketTransport(configuration: configuration))
    let opening = try #require(openings.withLock { $0 }[0])
    #expect(try #require(opening.tunnel) > .zero && opening.lookUp == nil)
    #expect(try #require(opening.tls) > .zero)
  }
}
