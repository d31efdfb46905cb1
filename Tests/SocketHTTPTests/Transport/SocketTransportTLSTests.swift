import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct SocketTransportTLSTests {
  private let world: TLSWorld
  private let server: ScriptedServer

  init() throws {
    world = try TLSWorld.shared.get()
    server = try ScriptedServer(.answering { RawResponse(body: $0.body) })
  }

  private func transport(_ tls: TLSConfiguration? = nil) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.tls = tls ?? TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    return SocketTransport(configuration: configuration)
  }

  private func relay(
    _ change: (inout TLSServerSettings) throws -> Void = { _ in }, isRude: Bool = false, to port: UInt16? = nil
  ) throws -> TLSRelay {
    var settings = TLSServerSettings(certificate: world.server)
    try change(&settings)
    return try TLSRelay(to: port ?? server.port, TLSServerContext(settings), isRude: isRude)
  }

  private func request(
    _ relay: TLSRelay, host: String = "127.0.0.1", body: Data? = Data("hello".utf8), isReplayable: Bool = false
  ) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: relay.url(host: host), body: body, timeouts: HTTPTimeouts(total: .seconds(15)),
      isReplayable: isReplayable)
  }

  @Test func `a request succeeds over TLS, and its connection is kept`() async throws {
    let relay = try relay()
    let transport = transport()
    for _ in 0..<5 {
      #expect(try await transport.response(to: request(relay)).body == Data("hello".utf8))
    }
    #expect(server.log.value.connections.count == 1)
  }

  @Test func `what a connection speaks is what its server has chosen`() async throws {
    let relay = try relay()
    let chosen = Locked<[ApplicationProtocol?]>([])
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    let transport = SocketTransport(
      configuration: configuration,
      makeHTTP: { applicationProtocol in
        chosen.withLock { $0.append(applicationProtocol) }
        return Connection.http(applicationProtocol)
      })
    #expect(try await transport.response(to: request(relay)).body == Data("hello".utf8))
    #expect(try await transport.response(to: .to(server)).body == Data("{}".utf8))
    #expect(chosen.withLock { $0 } == [.http1, nil])
  }

  @Test func `a server that chooses a protocol that was not offered gets no request, and the error says so`()
    async throws
  {
    let relay = try relay { $0.chosenProtocol = "h2" }
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    configuration.httpVersions = .http1
    let transport = SocketTransport(configuration: configuration)
    let error = await #expect(throws: RequestError.self) { try await transport.response(to: request(relay)) }
    #expect(error?.kind == .insecure)
    #expect(error?.message.contains("a protocol that was not offered: 'http/1.1' was") == true)
    #expect(server.requests.isEmpty)
  }

  @Test func `a body of many megabytes arrives whole over TLS, in both directions`() async throws {
    let relay = try relay()
    var body = Data(count: 8 << 20)
    for index in stride(from: 0, to: body.count, by: 1000) { body[index] = UInt8(truncatingIfNeeded: index / 1000) }
    #expect(try await transport().response(to: request(relay, body: body)).body == body)
  }

  @Test func `many connections are opened at once, and their requests succeed`() async throws {
    let relay = try relay()
    let transport = transport()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        group.addTask {
          let body = Data("\(index)".utf8)
          let response = try await transport.response(to: request(relay, body: body))
          #expect(response.body == body)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a server of another name, of another authority, or long expired is refused`() async throws {
    let relay = try relay()
    #expect(await transport().kindOfError(for: try request(relay, host: "localhost")) == .insecure)
    #expect(await transport(TLSConfiguration()).kindOfError(for: try request(relay)) == .insecure)
    let expired = try self.relay {
      $0.certificate = try TestCertificate(
        .init(names: ["IP:127.0.0.1"], begin: -7200, end: -3600), signedBy: world.authority)
    }
    #expect(await transport().kindOfError(for: try request(expired)) == .insecure)
    #expect(server.requests.isEmpty)
  }

  @Test func `a server that requests a certificate receives it, or refuses`() async throws {
    let authority = try TestCertificate(.init(commonName: "Clients", isAuthority: true))
    let me = try TestCertificate(.init(commonName: "Me"), signedBy: authority)
    let relay = try relay { $0.clientAuthority = authority }
    #expect(await transport().kindOfError(for: try request(relay)) == .insecure)
    let configuration = TLSConfiguration(
      trust: .only(.bytes(world.authority.certificate)),
      identity: ClientIdentity(certificates: .bytes(me.certificate), privateKey: .bytes(me.key)))
    #expect(try await transport(configuration).response(to: request(relay)).head.isSuccess)
  }

  @Test func `a client certificate that is replaced on the disk is shown by new connections`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "me.pem")
    func write(_ identity: TestCertificate) throws {
      try (identity.certificate + identity.key).write(to: file, options: .atomic)
    }
    let authority = try TestCertificate(.init(commonName: "Clients", isAuthority: true))
    try write(TestCertificate(.init(commonName: "Me"), signedBy: world.strangeAuthority))
    let relay = try relay { $0.clientAuthority = authority }
    let reloads = Monitor<[RequestError?]>([])
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(
      trust: .only(.bytes(world.authority.certificate)),
      identity: ClientIdentity(certificates: .file(file.path()), privateKey: .file(file.path())))
    configuration.onCertificateReload = { error in reloads.update { $0.append(error) } }
    let transport = SocketTransport(configuration: configuration)
    #expect(await transport.kindOfError(for: try request(relay)) == .insecure)
    try write(TestCertificate(.init(commonName: "Me"), signedBy: authority))
    let deadline = ContinuousClock.now + .seconds(20)
    var kind: RequestError.Kind?
    repeat { kind = await transport.kindOfError(for: try request(relay)) } while kind != nil && .now < deadline
    #expect(kind == nil)
    try await reloads.wait { !$0.isEmpty }
    #expect(reloads.value.count == 1)
    #expect(reloads.value[0] == nil)
  }

  @Test func `a wrong pin is refused before a request is sent`() async throws {
    let relay = try relay()
    let pin = try PublicKeyPin(Data(repeating: 1, count: 32).base64EncodedString())
    let configuration = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)), pins: [pin])
    #expect(await transport(configuration).kindOfError(for: try request(relay)) == .insecure)
    #expect(server.requests.isEmpty)
  }

  @Test func `a server that speaks no TLS, or ends in the handshake, is insecure`() async throws {
    let hello = try ScriptedServer([.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .waitForClientToClose])
    let closing = try ScriptedServer([.close])
    for server in [hello, closing] {
      let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
      let request = try HTTPRequest(method: .get, url: url, timeouts: HTTPTimeouts(total: .seconds(15)))
      #expect(await transport().kindOfError(for: request) == .insecure)
    }
  }

  @Test func `a server that never shakes hands runs into the connect deadline`() async throws {
    let silent = try ScriptedServer([.waitForClientToClose])
    let url = try #require(URL(string: "https://127.0.0.1:\(silent.port)/"))
    let timeouts = HTTPTimeouts(connect: .milliseconds(200), idle: nil, total: .seconds(5))
    let request = try HTTPRequest(method: .get, url: url, timeouts: timeouts)
    try await expectDelay(of: .milliseconds(200)) {
      let start = ContinuousClock.now
      #expect(await transport().kindOfError(for: request) == .timedOut)
      return .now - start
    }
    try await silent.waitForClientToClose()
  }

  @Test func `a response that ends with the close is refused where the close may be forged`() async throws {
    let untilClose = try ScriptedServer([.readRequest, .send(RawResponse(body: "all").bytesUntilClose), .close])
    let polite = try relay(to: untilClose.port)
    #expect(try await transport().response(to: request(polite)).body == Data("all".utf8))
    let rude = try relay(isRude: true, to: untilClose.port)
    #expect(await transport().kindOfError(for: try request(rude)) == .connectionLost)
  }

  @Test func `a kept connection that the server closed is replaced`() async throws {
    let once = try ScriptedServer([.readRequest, .send(RawResponse(body: "once")), .close])
    let relay = try relay(to: once.port)
    let transport = transport()
    for count in 1...5 {
      #expect(try await transport.response(to: request(relay)).body == Data("once".utf8))
      try await relay.closed.wait { $0 == count }
    }
    #expect(once.requests.count == 5)
  }
}
