import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Which sessions are resumed.
struct TLSResumptionTests {
  let world: TLSWorld
  let client: TLSContext

  init() throws {
    world = try TLSWorld.shared.get()
    client = world.client()
  }

  private func server(_ version: TLSServerSettings.Version) throws -> TLSServerContext {
    try TLSServerContext(TLSServerSettings(certificate: world.server).only(version))
  }

  /// Makes a connection, and reads what the server sends after the handshake; gives whether it was resumed.
  private func connect(_ client: TLSContext, _ server: TLSServerContext, host: String = "server.test") throws -> Bool {
    let pair = try TLSPair(client, server, host: host)
    try #require(try pair.shake(), "\(String(describing: pair.clientError))")
    try pair.server.write(Data("moment".utf8))
    #expect(try pair.answer().0 == Data("moment".utf8))
    #expect(try pair.server.isResumed == pair.client.isResumed)
    return pair.client.isResumed
  }

  @Test(arguments: TLSSessionTests.versions)
  func `the second connection resumes the session of the first, though that was cut off`(
    version: TLSServerSettings.Version
  ) throws {
    let server = try server(version)
    #expect(try connect(client, server) == false)
    for _ in 0..<5 { #expect(try connect(client, server)) }
  }

  @Test func `a ticket of TLS 1.3 is used once`() throws {
    let server = try server(.tls13)
    #expect(try connect(client, server) == false)
    // A server of OpenSSL gives two tickets in a full handshake; who reads no answer gets no new ones.
    let resumed = try (0..<3).map { _ in
      let pair = try TLSPair(client, server)
      _ = try pair.client.handshake()
      try pair.server.receive(pair.client.takeOutgoing())
      _ = try pair.server.handshake()
      return try pair.server.isResumed
    }
    #expect(resumed == [true, true, false])
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a session stands for its own host, port and context`(version: TLSServerSettings.Version) throws {
    let server = try server(version)
    #expect(try connect(client, server) == false)
    #expect(try connect(client, server, host: "a.wild.test") == false)
    #expect(try connect(world.client(), server) == false)
    let other = try TLSSession(client, host: "server.test", port: 444)
    _ = try other.handshake()
    let engine = try TLSServerEngine(server)
    try engine.receive(other.takeOutgoing())
    _ = try engine.handshake()
    #expect(try engine.isResumed == false)
    #expect(try connect(client, server))
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a server that no longer knows the session makes a new one`(version: TLSServerSettings.Version) throws {
    #expect(try connect(client, server(version)) == false)
    #expect(try connect(client, server(version)) == false)
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a session is resumed with pins, and with a client certificate`(version: TLSServerSettings.Version) throws {
    let identity = try TestCertificate(.init(commonName: "client"), signedBy: world.authority)
    let client = world.client(
      identity: ClientIdentity(certificates: .bytes(identity.chain), privateKey: .bytes(identity.key)),
      pins: [try PublicKeyPin(world.server.pin.base64EncodedString())])
    var settings = TLSServerSettings(certificate: world.server).only(version)
    settings.clientAuthority = world.authority
    let server = try TLSServerContext(settings)
    #expect(try connect(client, server) == false)
    #expect(try connect(client, server))
  }

  @Test func `a ticket is good for an hour`() throws {
    for (age, isGood) in [(Duration.seconds(3599), true), (.seconds(3601), false)] {
      let client = world.client()
      #expect(try connect(client, server(.tls13)) == false)
      #expect((try client.openSSL().tickets.take(for: "server.test:443", at: .now + age) != nil) == isGood)
    }
  }

  @Test func `the latest of many hosts are remembered`() throws {
    let server = try server(.tls12)
    let tickets = try client.openSSL().tickets
    #expect(try connect(client, server) == false)
    #expect(try connect(client, server, host: "a.wild.test") == false)
    let later = try #require(tickets.take(for: "a.wild.test:443"))
    for index in 0..<254 { tickets.add(later, for: "\(index)") }
    #expect(tickets.take(for: "server.test:443") != nil)
    tickets.add(later, for: "254")
    #expect(tickets.take(for: "server.test:443") == nil)
    for index in 0..<255 { #expect(tickets.take(for: "\(index)") === later) }
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a refused session is not resumed`(version: TLSServerSettings.Version) throws {
    let server = try server(version)
    let client = world.client(pins: [try PublicKeyPin(Data(count: 32).base64EncodedString())])
    for _ in 0..<3 { #expect(try TLSPair(client, server).shake() == false) }
  }
}
