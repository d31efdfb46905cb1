import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport
import Testing

/// Who the client is, which keys it insists on, and what sessions it resumes.
struct TLSIdentityTests {
  let world: TLSWorld
  let identity: TestCertificate

  init() throws {
    world = try TLSWorld.shared.get()
    identity = try TestCertificate(.init(commonName: "client"), signedBy: world.authority)
  }

  /// A server that asks for a client's certificate.
  private func asking(_ version: TLSServerSettings.Version, _ client: TLSContext) throws -> TLSPair {
    var settings = TLSServerSettings(certificate: world.server).only(version)
    settings.clientAuthority = world.authority
    return try TLSPair(client, TLSServerContext(settings))
  }

  private func client(_ certificate: TestCertificate) -> TLSContext {
    world.client(identity: ClientIdentity(certificates: .bytes(certificate.chain), privateKey: .bytes(certificate.key)))
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a server that requests the certificate receives it`(version: TLSServerSettings.Version) throws {
    let pair = try asking(version, client(identity))
    #expect(try pair.shake(), "\(String(describing: pair.serverError))")
    #expect(pair.client.isIdentityRequested)
    try pair.client.write(Data("moment".utf8))
    #expect(try pair.send() == Data("moment".utf8))
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a certificate over an intermediate is shown with it`(version: TLSServerSettings.Version) throws {
    let intermediate = try TestCertificate(.init(isAuthority: true), signedBy: world.authority)
    let identity = try TestCertificate(.init(commonName: "client"), signedBy: intermediate)
    #expect(try asking(version, client(identity)).shake())
  }

  @Test func `a missing certificate shows in the handshake under TLS 1.2`() throws {
    let pair = try asking(.tls12, world.client())
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
    #expect(pair.clientError?.message.contains("none is set") == true, "\(String(describing: pair.clientError))")
  }

  @Test func `a missing certificate shows at the first reading under TLS 1.3`() throws {
    let pair = try asking(.tls13, world.client())
    #expect(try pair.shake() == false)
    #expect(pair.clientError == nil)
    #expect(pair.client.isEstablished)
    pair.client.receive(try pair.server.takeOutgoing())
    var text = Data()
    let error = #expect(throws: RequestError.self) { try pair.client.readAll(into: &text) }
    #expect(error?.kind == .insecure)
    #expect(error?.message.contains("none is set") == true, "\(String(describing: error))")
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a certificate of another authority is not accepted, and the message says so`(
    version: TLSServerSettings.Version
  ) throws {
    let strange = try TestCertificate(.init(commonName: "client"), signedBy: world.strangeAuthority)
    let pair = try asking(version, client(strange))
    #expect(try pair.shake() == false)
    var error = pair.clientError
    if version == .tls13 {
      var text = Data()
      error = #expect(throws: RequestError.self) { try pair.client.readAll(into: &text) }
    }
    #expect(error?.kind == .insecure)
    #expect(
      error?.message.contains("does not accept this client's certificate") == true, "\(String(describing: error))")
  }

  @Test func `a pin of the server, or of its authority, lets it in`() throws {
    for pin in [world.server.pin, world.authority.pin] {
      let pins: Set = [try PublicKeyPin(pin.base64EncodedString()), try Self.pin(of: 0)]
      #expect(try world.pair(world.client(pins: pins)).shake())
    }
  }

  @Test func `a server with other pins is refused, and its own is named`() throws {
    let pair = try world.pair(world.client(pins: [Self.pin(of: 0)]))
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
    #expect(pair.clientError?.message.contains("sha256/\(world.server.pin.base64EncodedString())") == true)
  }

  @Test func `a pin does not stand in for trust, nor for the name`() throws {
    let pins: Set = [try PublicKeyPin(world.server.pin.base64EncodedString())]
    let untrusting = world.client(trust: .only(.bytes(world.strangeAuthority.certificate)), pins: pins)
    #expect(try world.pair(untrusting).shake() == false)
    #expect(try world.pair(world.client(pins: pins), host: "other.test").shake() == false)
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a server with a wrong pin does not learn who the client is`(version: TLSServerSettings.Version) throws {
    let context = world.client(
      identity: ClientIdentity(certificates: .bytes(identity.chain), privateKey: .bytes(identity.key)),
      pins: [try Self.pin(of: 0)])
    let pair = try asking(version, context)
    _ = try pair.client.handshake()
    try pair.server.receive(pair.client.takeOutgoing())
    _ = try pair.server.handshake()
    pair.client.receive(try pair.server.takeOutgoing())
    #expect(throws: RequestError.self) { try pair.client.handshake() }
    #expect(pair.client.takeOutgoing().count < 40, "more than an alert")
  }

  @Test func `a pin is 32 bytes in base64, with or without its prefix`() throws {
    let text = Data(repeating: 7, count: 32).base64EncodedString()
    #expect(try PublicKeyPin(text) == PublicKeyPin("sha256/" + text))
    #expect(try PublicKeyPin(text).description == "sha256/" + text)
    for wrong in ["", "sha256/", "sha1/" + text, Data(count: 31).base64EncodedString(), text + "A", "not base64"] {
      let error = #expect(throws: RequestError.self) { try PublicKeyPin(wrong) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  private static func pin(of byte: UInt8) throws -> PublicKeyPin {
    try PublicKeyPin(Data(repeating: byte, count: 32).base64EncodedString())
  }
}
