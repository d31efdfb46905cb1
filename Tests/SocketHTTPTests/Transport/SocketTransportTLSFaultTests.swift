import Foundation
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import TestSupport
import Testing

/// What can go wrong between a client and a server that speak TLS, over real sockets.
@Suite struct SocketTransportTLSFaultTests {
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

  private func relay(_ settings: TLSServerSettings, to server: ScriptedServer? = nil, isRude: Bool = false) throws
    -> TLSRelay
  {
    try TLSRelay(to: (server ?? self.server).port, TLSServerContext(settings), isRude: isRude)
  }

  private func relay(_ contents: TestCertificate.Contents, signedBy issuer: TestCertificate? = nil) throws -> TLSRelay {
    try relay(TLSServerSettings(certificate: TestCertificate(contents, signedBy: issuer)))
  }

  private func request(to port: UInt16, host: String = "127.0.0.1", body: String = "moment") throws -> HTTPRequest {
    let url = try #require(URL(string: "https://\(host):\(port)/"))
    return try HTTPRequest(
      method: .post, url: url, body: Data(body.utf8), timeouts: HTTPTimeouts(total: .seconds(30)))
  }

  /// Expects that a request is refused as insecure, with these words, and that the server sees nothing of it.
  private func expectRefusal(_ relay: TLSRelay, _ words: String..., tls: TLSConfiguration? = nil) async throws {
    let error = await #expect(throws: RequestError.self) {
      try await transport(tls).response(to: request(to: relay.port))
    }
    #expect(error?.kind == .insecure)
    for word in words { #expect(error?.message.contains(word) == true, "\(String(describing: error))") }
    #expect(server.requests.isEmpty)
  }

  @Test func `a self-signed certificate is refused, and can be trusted`() async throws {
    let certificate = try TestCertificate(.init(names: ["IP:127.0.0.1"]))
    let relay = try relay(TLSServerSettings(certificate: certificate))
    try await expectRefusal(relay, "self-signed", "trust that certificate")
    let trusting = transport(TLSConfiguration(trust: .only(.bytes(certificate.certificate))))
    #expect(try await trusting.response(to: request(to: relay.port)).body == Data("moment".utf8))
  }

  @Test func `a certificate of the future, of an unknown authority, or for clients is refused`() async throws {
    let names = ["IP:127.0.0.1"]
    try await expectRefusal(relay(.init(names: names, begin: 3600), signedBy: world.authority), "not yet valid")
    try await expectRefusal(relay(.init(names: names), signedBy: world.strangeAuthority), "trust the authority")
    try await expectRefusal(relay(.init(names: names, usage: "clientAuth"), signedBy: world.authority), "purpose")
  }

  @Test func `a certificate for other names is refused with those names`() async throws {
    let names = ["DNS:elsewhere.test", "IP:127.0.0.2"]
    try await expectRefusal(relay(.init(names: names), signedBy: world.authority), "elsewhere.test, 127.0.0.2")
  }

  @Test func `an old protocol is refused`() async throws {
    try await expectRefusal(relay(TLSServerSettings(certificate: world.server).only(.tls11)), "no version of TLS")
  }

  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13])
  func `a missing client certificate is named, and the server gets no request`(
    version: TLSServerSettings.Version
  ) async throws {
    var settings = TLSServerSettings(certificate: world.server).only(version)
    settings.clientAuthority = world.authority
    for _ in 0..<TestScale.count(10, long: 200) {
      try await expectRefusal(relay(settings), "asks for a client certificate, and none is set")
    }
  }

  @Test func `a file of authorities that is not there is named`() async throws {
    let tls = TLSConfiguration(trust: .only(.file("/nonexistent/ca.pem")))
    let relay = try relay(TLSServerSettings(certificate: world.server))
    try await expectRefusal(relay, "/nonexistent/ca.pem", tls: tls)
  }

  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13])
  func `later connections resume the session of the first`(version: TLSServerSettings.Version) async throws {
    let once = try ScriptedServer([.readRequest, .send(RawResponse(body: "once")), .close])
    let relay = try relay(TLSServerSettings(certificate: world.server).only(version), to: once)
    let transport = transport()
    for count in 1...4 {
      #expect(try await transport.response(to: request(to: relay.port)).body == Data("once".utf8))
      try await relay.closed.wait { $0 == count }
    }
    #expect(relay.resumptions.value == [false, true, true, true])
  }

  @Test func `a connection that is cut behind a whole response takes nothing from it`() async throws {
    let once = try ScriptedServer([.readRequest, .send(RawResponse(body: "whole")), .close])
    let relay = try relay(TLSServerSettings(certificate: world.server), to: once, isRude: true)
    #expect(try await transport().response(to: request(to: relay.port)).body == Data("whole".utf8))
  }

  @Test(arguments: [false, true])
  func `a response shorter than its length is a lost connection, whether or not the server says that it ends`(
    isRude: Bool
  ) async throws {
    let short = try ScriptedServer([.readRequest, .send(RawResponse(body: "all").bytes(contentLength: 4)), .close])
    let relay = try relay(TLSServerSettings(certificate: world.server), to: short, isRude: isRude)
    #expect(await transport().kindOfError(for: try request(to: relay.port)) == .connectionLost)
  }

  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13], CuttingRelay.End.allCases)
  func `T8: a connection cut at any byte is an error, and sends its request once`(
    version: TLSServerSettings.Version, end: CuttingRelay.End
  ) async throws {
    let relay = try relay(TLSServerSettings(certificate: world.server).only(version))
    let step = TestScale.count(41, long: 1)
    var kinds: [RequestError.Kind?] = []
    for count in stride(from: 0, to: 10_000, by: step) {
      let cutting = try CuttingRelay(to: relay.port, after: count, end)
      kinds.append(await transport().kindOfError(for: try request(to: cutting.port, body: "moment \(count)")))
      if kinds.last == .some(nil) { break }
    }
    // The last cut fell behind the whole answer.
    #expect(kinds.last == .some(nil))
    #expect(kinds.count * step > 500)
    // A reset may come before the client has noticed that it is connected.
    #expect(Set(kinds.dropLast()).isSubset(of: [.insecure, .connectionLost, .cannotConnect]))
    #expect(kinds.contains(.connectionLost))
    if end == .finish { #expect(kinds.contains(.insecure)) }
    let sent = Dictionary(grouping: server.requests, by: \.body)
    #expect(!sent.isEmpty)
    #expect(sent.allSatisfy { $0.value.count == 1 })
  }

  @Test func `T10: a connection that is reset in the handshake leaves its request unsent`() async throws {
    let relay = try relay(TLSServerSettings(certificate: world.server))
    let cutting = try CuttingRelay(to: relay.port, after: 100, .reset)
    let error = await #expect(throws: RequestError.self) {
      try await transport().response(to: request(to: cutting.port))
    }
    withExtendedLifetime((relay, cutting)) {}
    #expect(error?.kind == .connectionLost)
    #expect(error?.reached == .never)
    #expect(server.requests.isEmpty)
  }

  @Test func `T7: disposing in the handshake closes the connection`() async throws {
    let silent = try ScriptedServer([.waitForClientToClose])
    let request = try request(to: silent.port)
    let task = Task { [transport = transport()] in try await transport.response(to: request) }
    try await silent.log.wait { $0.connections.count == 1 }
    task.cancel()
    try await silent.waitForClientToClose()
    await #expect(throws: (any Error).self) { try await task.value }
  }
}
