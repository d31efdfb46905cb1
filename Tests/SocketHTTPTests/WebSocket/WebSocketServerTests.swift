import Foundation
import HTTPTestSupport
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// A connection to a server that others have written.
@Suite struct WebSocketServerTests {
  private let transport = SocketTransport()

  private static let texts = ["", "a", "ångström 🎉", String(repeating: "0123456789", count: 20_000), "\u{0}\u{10FFFF}"]

  @Test(arguments: [WebSocketCompression.off, .perMessage, .acrossMessages])
  func `messages of all sizes come back as they were sent`(compression: WebSocketCompression) async throws {
    let server = try await PythonWebSocketServer.shared()
    let log = try WebSocketLog(transport.connect(server.request("/echo", compression: compression)))
    let connection = try await log.opened()
    #expect(connection.head.headers.contains("Sec-WebSocket-Extensions") == (compression != .off))
    var expected = [WebSocketLog.Entry.opened(nil)]
    for text in Self.texts + Self.texts {
      try connection.send(text)
      expected.append(.text(text))
    }
    for size in [0, 1, 125, 126, 127, 128, 65_535, 65_536, 1_000_000] {
      let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
      try connection.send(.binary(data))
      expected.append(.message(.binary(data)))
    }
    try connection.ping(Data("are you there".utf8))
    expected.append(.pong(Data("are you there".utf8)))
    try await log.entries.wait(for: "the echoes") { [count = expected.count] in $0.count >= count }
    try connection.close(code: WebSocketCloseCode(4321), reason: "enough")
    expected += [.closed(WebSocketCloseCode(4321), "enough"), .completed]
    let entries = try await log.ended()
    // A pong may come before messages that the server has yet to send.
    #expect(
      entries.filter { $0 != .pong(Data("are you there".utf8)) }
        == expected.filter { $0 != .pong(Data("are you there".utf8)) })
    #expect(entries.count == expected.count)
  }

  @Test(arguments: [WebSocketCompression.off, .perMessage, .acrossMessages])
  func `a stream of messages is delivered whole, and ends with the server's close`(
    compression: WebSocketCompression
  ) async throws {
    let server = try await PythonWebSocketServer.shared()
    let log = try WebSocketLog(
      transport.connect(server.request("/push?count=2000&size=2048", compression: compression)))
    let entries = try await log.ended()
    let text = String(String(repeating: "0123456789", count: 205).prefix(2048))
    #expect(entries.first == .opened(nil))
    #expect(entries.suffix(2) == [.closed(.normal), .completed])
    #expect(log.texts == [String](repeating: text, count: 2000))
  }

  @Test(arguments: [WebSocketCompression.off, .acrossMessages])
  func `a text in fragments, with a ping in between, is one message`(compression: WebSocketCompression) async throws {
    let server = try await PythonWebSocketServer.shared()
    let log = try WebSocketLog(transport.connect(server.request("/fragments?count=100", compression: compression)))
    let text = (0..<100).map { "ångström \($0) " }.joined()
    #expect(try await log.ended() == [.opened(nil), .text(text), .closed(.normal), .completed])
  }

  @Test func `the server's code and reason are delivered`() async throws {
    let server = try await PythonWebSocketServer.shared()
    let log = try WebSocketLog(transport.connect(server.request("/close?code=4403&reason=verboten")))
    #expect(try await log.ended() == [.opened(nil), .closed(WebSocketCloseCode(4403), "verboten"), .completed])
  }

  @Test(arguments: [(401, nil), (429, 3), (503, 3)] as [(Int, Int?)])
  func `a refusal is delivered with status, Retry-After and body`(status: Int, seconds: Int?) async throws {
    let server = try await PythonWebSocketServer.shared()
    let log = try WebSocketLog(transport.connect(server.request("/refuse?status=\(status)")))
    #expect(try await log.ended() == [.failed(.httpStatus)])
    #expect(log.error.value?.status == status)
    #expect(log.error.value?.retryAfter == .seconds(3))
    #expect(log.error.value?.excerpt?.contains("not now") == true)
  }

  @Test func `W3: pings are answered within a second while the observer is stuck`() async throws {
    let server = try await PythonWebSocketServer.shared()
    let (isFree, isStuck) = (DispatchSemaphore(value: 0), Latch())
    let log = try WebSocketLog(transport.connect(server.request("/ping?count=200"))) { entry in
      guard case .opened = entry else { return }
      isStuck.open()
      isFree.wait()
    }
    try await isStuck.wait()
    // The server closes once it has all pongs, whatever the observer does.
    try await Task.sleep(for: .milliseconds(300))
    isFree.signal()
    let entries = try await log.ended()
    #expect(entries.last == .completed)
    let longest = try #require(log.texts.first.flatMap(Double.init))
    #expect(longest < 1)
  }

  @Test func `a connection on a Unix domain socket works as one over TCP does`() async throws {
    let server = try await PythonWebSocketServer.shared()
    var configuration = SocketTransport.Configuration()
    configuration.unixSocketPath = server.path
    let transport = SocketTransport(configuration: configuration)
    let log = WebSocketLog(transport.connect(try WebSocketRequest(url: url("ws://anything.test/push?count=3&size=4"))))
    #expect(
      try await log.ended() == [
        .opened(nil), .text("0123"), .text("0123"), .text("0123"), .closed(.normal), .completed,
      ])
  }

  // MARK: - TLS and proxies

  private func configuration(_ change: (inout SocketTransport.Configuration) -> Void = { _ in }) throws
    -> SocketTransport.Configuration
  {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(try TLSWorld.shared.get().authority.certificate)))
    change(&configuration)
    return configuration
  }

  private func relay(
    to server: PythonWebSocketServer, tunnelAnswer: String? = nil,
    _ change: (inout TLSServerSettings) -> Void = { _ in }
  ) throws -> TLSRelay {
    var settings = TLSServerSettings(certificate: try TLSWorld.shared.get().server)
    change(&settings)
    return try TLSRelay(to: server.port, TLSServerContext(settings), tunnelAnswer: tunnelAnswer)
  }

  @Test func `a connection over TLS trusts the given authority, and only it`() async throws {
    let server = try await PythonWebSocketServer.shared()
    let relay = try relay(to: server)
    let request = try WebSocketRequest(url: url("wss://127.0.0.1:\(relay.port)/push?count=1000&size=1000"))
    let log = try WebSocketLog(SocketTransport(configuration: configuration()).connect(request))
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
    #expect(log.texts.count == 1000)
    let stranger = WebSocketLog(SocketTransport().connect(request))
    #expect(try await stranger.ended() == [.failed(.insecure)])
  }

  @Test func `large messages go both ways over TLS`() async throws {
    let relay = try relay(to: try await PythonWebSocketServer.shared())
    let request = try WebSocketRequest(url: url("wss://127.0.0.1:\(relay.port)/echo"))
    let log = try WebSocketLog(SocketTransport(configuration: configuration()).connect(request))
    let connection = try await log.opened()
    let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) })
    try connection.send(.binary(data))
    try await log.entries.wait(for: "the echo") { $0.count == 2 }
    #expect(log.entries.value.last == .message(.binary(data)))
    try connection.close()
    #expect(try await log.ended().suffix(2) == [.closed(.normal), .completed])
  }

  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13], [false, true])
  func `a server that requests a certificate receives the configuration's, or refuses`(
    version: TLSServerSettings.Version, hasProxy: Bool
  ) async throws {
    let clients = try TestCertificate(.init(commonName: "Clients", isAuthority: true))
    let me = try TestCertificate(.init(commonName: "Me"), signedBy: clients)
    let stranger = try TestCertificate(.init(commonName: "Me"), signedBy: TLSWorld.shared.get().strangeAuthority)
    let relay = try relay(
      to: try await PythonWebSocketServer.shared(), tunnelAnswer: hasProxy ? "HTTP/1.1 200 OK\r\n\r\n" : nil
    ) {
      $0 = $0.only(version)
      $0.clientAuthority = clients
    }
    let address = hasProxy ? "server.test" : "127.0.0.1:\(relay.port)"
    let request = try WebSocketRequest(url: url("wss://\(address)/push?count=2&size=3"))
    func log(showing certificate: TestCertificate?) throws -> WebSocketLog {
      let configuration = try configuration { configuration in
        configuration.tls.identity = certificate.map {
          ClientIdentity(certificates: .bytes($0.certificate), privateKey: .bytes($0.key))
        }
        if hasProxy { configuration.proxy = ProxyConfiguration(https: "http://127.0.0.1:\(relay.port)") }
      }
      return WebSocketLog(SocketTransport(configuration: configuration).connect(request))
    }
    let accepted = try log(showing: me)
    #expect(try await accepted.ended() == [.opened(nil), .text("012"), .text("012"), .closed(.normal), .completed])
    for (certificate, words) in [
      (nil, "asks for a client certificate, and none is set"),
      (stranger, "does not accept this client's certificate"),
    ] {
      let refused = try log(showing: certificate)
      #expect(try await refused.ended() == [.failed(.insecure)])
      #expect(refused.error.value?.message.contains(words) == true, "\(String(describing: refused.error.value))")
    }
    #expect(relay.resumptions.value.count == 1, "a refused client got past the handshake")
  }

  @Test func `a secure connection goes through a proxy's tunnel`() async throws {
    let relay = try relay(
      to: try await PythonWebSocketServer.shared(), tunnelAnswer: "HTTP/1.1 200 Connection established\r\n\r\n")
    let configuration = try configuration {
      $0.proxy = ProxyConfiguration(https: "http://me:secret@127.0.0.1:\(relay.port)")
    }
    let request = try WebSocketRequest(url: url("wss://server.test/push?count=2&size=3"))
    let log = WebSocketLog(SocketTransport(configuration: configuration).connect(request))
    #expect(try await log.ended() == [.opened(nil), .text("012"), .text("012"), .closed(.normal), .completed])
    let head = relay.tunnelRequests.value.first
    #expect(head?.hasPrefix("CONNECT server.test:443 HTTP/1.1\r\n") == true)
    #expect(head?.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") == true)
  }

  /// RFC 6455, section 4.1: a proxy that does not know WebSocket would not pass an upgrade on.
  @Test func `a connection in the clear goes through a proxy's tunnel, too`() async throws {
    let heads = Monitor<[String]>([])
    let proxy = try WebSocketPeerServer { peer in
      let tunnel = try peer.readHead()
      try peer.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
      let upgrade = try peer.accept()
      heads.update { $0 += [tunnel, upgrade] }
      try peer.send(ServerFrame.text("through the tunnel") + ServerFrame.close(1000))
      try peer.close()
    }
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(http: "http://me:secret@127.0.0.1:\(proxy.port)")
    let request = try WebSocketRequest(url: url("ws://server.invalid/live"))
    let log = WebSocketLog(SocketTransport(configuration: configuration).connect(request))
    #expect(try await log.ended() == [.opened(nil), .text("through the tunnel"), .closed(.normal), .completed])
    #expect(heads.value[0].hasPrefix("CONNECT server.invalid:80 HTTP/1.1\r\n"))
    #expect(heads.value[1].hasPrefix("GET /live HTTP/1.1\r\nHost: server.invalid\r\n"))
    #expect(!heads.value[1].contains("Proxy-Authorization"))
  }

  @Test func `a proxy that gives no tunnel is an error that says so`() async throws {
    let proxy = try WebSocketPeerServer { peer in
      _ = try peer.readHead()
      try peer.send(Array("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".utf8))
    }
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(http: "http://127.0.0.1:\(proxy.port)")
    let request = try WebSocketRequest(url: url("ws://server.invalid/"))
    let log = WebSocketLog(SocketTransport(configuration: configuration).connect(request))
    #expect(try await log.ended() == [.failed(.cannotConnect)])
    #expect(log.error.value?.status == 407)
  }

  @Test func `the resolver of the configuration finds the server`() async throws {
    let server = try await PythonWebSocketServer.shared()
    var configuration = SocketTransport.Configuration()
    configuration.resolver = { ["live.test": ["127.0.0.1"]][$0] }
    let request = try WebSocketRequest(url: url("ws://live.test:\(server.port)/close?code=1000"))
    let log = WebSocketLog(SocketTransport(configuration: configuration).connect(request))
    #expect(try await log.ended() == [.opened(nil), .closed(.normal), .completed])
  }
}
