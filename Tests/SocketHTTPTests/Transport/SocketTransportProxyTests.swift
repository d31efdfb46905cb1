import Foundation
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import SocketHTTP
import TestSupport
import Testing

@Suite struct SocketTransportProxyTests {
  private func request(_ text: String) throws -> HTTPRequest {
    try HTTPRequest(method: .get, url: url(text), timeouts: HTTPTimeouts(total: .seconds(10)))
  }

  @Test func `a request in the clear is given to the proxy with its whole URL`() async throws {
    let proxy = try ScriptedServer(.answering { _ in RawResponse(body: "from the proxy") })
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(http: "http://me:secret@127.0.0.1:\(proxy.port)")
    let transport = SocketTransport(configuration: configuration)
    for host in ["one.invalid", "two.invalid:81"] {
      let response = try await transport.response(to: request("http://\(host)/a?b=c"))
      #expect(response.body == Data("from the proxy".utf8))
    }
    #expect(proxy.requests.map(\.target) == ["http://one.invalid/a?b=c", "http://two.invalid:81/a?b=c"])
    #expect(proxy.requests.map { $0["Host"] } == ["one.invalid", "two.invalid:81"])
    #expect(proxy.requests.allSatisfy { $0["Proxy-Authorization"] == "Basic bWU6c2VjcmV0" })
    #expect(proxy.log.value.connections.count == 1)
  }

  @Test func `a secure request uses a tunnel, in which the server's certificate is verified`() async throws {
    let world = try TLSWorld.shared.get()
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "through the tunnel") })
    let relay = try TLSRelay(
      to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server)),
      tunnelAnswer: "HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\n")
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(https: "http://me:secret@127.0.0.1:\(relay.port)")
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    let transport = SocketTransport(configuration: configuration)
    for _ in 0..<3 {
      let response = try await transport.response(to: request("https://server.test/a"))
      #expect(response.body == Data("through the tunnel".utf8))
    }
    let heads = relay.tunnelRequests.value
    #expect(heads.count == 1)
    #expect(heads.first?.hasPrefix("CONNECT server.test:443 HTTP/1.1\r\nHost: server.test:443\r\n") == true)
    #expect(heads.first?.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") == true)
    #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil && $0.target == "/a" })
    #expect(await transport.kindOfError(for: try request("https://other.test/")) == .insecure)
  }

  @Test(arguments: [
    ("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", false),
    ("HTTP/1.1 401 Unauthorized\r\n\r\n", false), ("HTTP/1.1 502 Bad Gateway\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\n\r\ntoo much", true), ("SSH-2.0\r\n", true), ("HTTP/1.1 200 OK\r\n", true),
  ])
  func `a proxy that gives no tunnel is an error that says so, and whether trying again may help`(
    answer: String, isTransient: Bool
  ) async throws {
    let proxy = try ScriptedServer([.readRequest, .send(answer), .close])
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(https: "http://127.0.0.1:\(proxy.port)")
    let transport = SocketTransport(configuration: configuration)
    let error = await #expect(throws: RequestError.self) {
      try await transport.response(to: request("https://server.test/"))
    }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.message.contains("proxy") == true)
    #expect(error?.isTransient == isTransient)
    #expect(error?.reached == .never)
  }

  @Test func `T10: a proxy that resets the connection before it gives a tunnel leaves the request unsent`() async throws
  {
    let proxy = try ScriptedServer([.readRequest, .reset])
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(https: "http://127.0.0.1:\(proxy.port)")
    let transport = SocketTransport(configuration: configuration)
    let error = await #expect(throws: RequestError.self) {
      try await transport.response(to: request("https://server.test/"))
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reached == .never)
  }
}
