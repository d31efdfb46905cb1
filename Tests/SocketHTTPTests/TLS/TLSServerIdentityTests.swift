import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport
import Testing

/// Who a server may be.
struct TLSServerIdentityTests {
  let world: TLSWorld

  init() throws {
    world = try TLSWorld.shared.get()
  }

  /// The error of a handshake that must fail: `insecure`, and the server is told.
  private func error(_ pair: TLSPair, _ text: String, _ hint: String, tells alert: String) throws {
    #expect(try pair.shake() == false)
    let error = try #require(pair.clientError)
    #expect(error.kind == .insecure)
    #expect(error.message.contains(text), "\(error)")
    #expect(error.message.contains(hint), "\(error)")
    #expect("\(try #require(pair.serverError))".contains(alert))
    #expect(!pair.client.isEstablished)
    let later = #expect(throws: RequestError.self) { try pair.client.handshake() }
    #expect(later?.message == error.message)
    #expect(throws: RequestError.self) { try pair.client.write(Data("secret".utf8)) }
    #expect(pair.client.takeOutgoing().isEmpty)
  }

  @Test(arguments: ["server.test", "SERVER.test", "server.test.", "a.wild.test", "127.0.0.1", "::1", "[::1]", "0:0::1"])
  func `the right host is trusted`(host: String) throws {
    let pair = try world.pair(host: host)
    #expect(try pair.shake(), "\(String(describing: pair.clientError))")
    #expect(pair.client.isEstablished)
  }

  @Test(
    arguments: ["other.test", "a.b.wild.test", "wild.test", "server.test.evil.test", "127.0.0.1.test", "server"])
  func `another host is refused, and the message names those of the certificate`(host: String) throws {
    try error(
      world.pair(host: host), "hostname mismatch", "server.test, *.wild.test, 127.0.0.1, 0:0:0:0:0:0:0:1",
      tells: "bad certificate")
  }

  @Test(arguments: ["127.0.0.2", "::2", "[::2]"])
  func `another address is refused`(host: String) throws {
    try error(world.pair(host: host), "IP address mismatch", "127.0.0.1", tells: "bad certificate")
  }

  @Test func `a common name is no name`() throws {
    try error(
      world.pair(.init(commonName: "server.test")), "hostname mismatch", "no name at all", tells: "bad certificate")
  }

  @Test func `a wildcard in the midst of a label is no wildcard`() throws {
    let pair = try world.pair(.init(names: ["DNS:ser*.wild.test"]), host: "server.wild.test")
    try error(pair, "hostname mismatch", "ser*.wild.test", tells: "bad certificate")
  }

  @Test func `an address as a host name in the certificate does not count`() throws {
    try error(
      world.pair(.init(names: ["DNS:127.0.0.1"]), host: "127.0.0.1"), "IP address mismatch", "127.0.0.1",
      tells: "bad certificate")
  }

  @Test(arguments: ["", ".", "[]", "server.test\0.evil.test", "\0", String(repeating: "a", count: 300) + ".test"])
  func `a host that cannot be verified makes no session`(host: String) throws {
    let error = #expect(throws: RequestError.self) { try TLSSession(world.client(), host: host, port: 443) }
    #expect(error?.kind == .insecure)
  }

  @Test func `an expired certificate is refused`() throws {
    let pair = try world.pair(.init(names: ["DNS:server.test"], begin: -7200, end: -3600))
    try error(pair, "certificate has expired", "renewed", tells: "certificate expired")
  }

  @Test func `a certificate of the future is refused`() throws {
    let pair = try world.pair(.init(names: ["DNS:server.test"], begin: 3600))
    try error(pair, "not yet valid", "clock", tells: "bad certificate")
  }

  @Test func `an unknown authority is refused`() throws {
    let pair = try world.pair(.init(names: ["DNS:server.test"]), signedBy: world.strangeAuthority)
    try error(pair, "unable to get local issuer certificate", "trust the authority", tells: "unknown ca")
  }

  @Test func `the system's trust does not include a private authority`() throws {
    let pair = try world.pair(world.client(trust: .system))
    try error(pair, "unable to get local issuer certificate", "trust the authority", tells: "unknown ca")
  }

  @Test func `a private authority can be trusted beside the system's`() throws {
    #expect(try world.pair(world.client(trust: .systemAnd(.bytes(world.authority.certificate)))).shake())
  }

  @Test func `an empty trust refuses every server`() throws {
    try error(world.pair(world.client(trust: .only())), "issuer", "trust the authority", tells: "unknown ca")
  }

  @Test func `several authorities may stand in one text, and several texts be given`() throws {
    let both = world.strangeAuthority.certificate + Data("\n# the right one\n".utf8) + world.authority.certificate
    #expect(try world.pair(world.client(trust: .only(.bytes(both)))).shake())
    let each = CertificateTrust.only(
      .bytes(world.strangeAuthority.certificate), .bytes(world.authority.certificate),
      .bytes(world.authority.certificate))
    #expect(try world.pair(world.client(trust: each)).shake())
  }

  @Test func `a self-signed certificate is refused, unless it is trusted itself`() throws {
    let certificate = try TestCertificate(.init(names: ["DNS:server.test"]))
    let server = try TLSServerContext(TLSServerSettings(certificate: certificate))
    try error(TLSPair(world.client(), server), "self-signed certificate", "trust that certificate", tells: "unknown ca")
    #expect(try TLSPair(world.client(trust: .only(.bytes(certificate.certificate))), server).shake())
  }

  @Test func `trusting a server's own certificate does not make it good for another host`() throws {
    let certificate = try TestCertificate(.init(names: ["DNS:server.test"]))
    let server = try TLSServerContext(TLSServerSettings(certificate: certificate))
    let client = world.client(trust: .only(.bytes(certificate.certificate)))
    try error(TLSPair(client, server, host: "other.test"), "hostname mismatch", "server.test", tells: "bad certificate")
  }

  @Test func `a chain over an intermediate is followed, and a missing intermediate named as a cause`() throws {
    let intermediate = try TestCertificate(
      .init(commonName: "Intermediate", isAuthority: true), signedBy: world.authority)
    let leaf = try TestCertificate(.init(names: ["DNS:server.test"]), signedBy: intermediate)
    #expect(try TLSPair(world.client(), TLSServerContext(TLSServerSettings(certificate: leaf))).shake())
    #expect(
      try TLSPair(
        world.client(trust: .only(.bytes(intermediate.certificate))),
        TLSServerContext(TLSServerSettings(certificate: leaf))
      ).shake())
    try error(
      world.pair(.init(names: ["DNS:server.test"]), signedBy: TestCertificate.withoutIntermediates(intermediate)),
      "issuer", "intermediate", tells: "unknown ca")
  }

  @Test func `a certificate for clients does not make a server`() throws {
    let pair = try world.pair(.init(names: ["DNS:server.test"], usage: "clientAuth"))
    try error(pair, "unsuitable certificate purpose", "server.test", tells: "unsupported certificate")
    #expect(try world.pair(.init(names: ["DNS:server.test"], usage: "serverAuth")).shake())
  }

  @Test func `a certificate that is no authority's signs nothing`() throws {
    let pair = try world.pair(.init(names: ["DNS:server.test"]), signedBy: world.server)
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
  }

  @Test func `the server receives the host name, but not an address`() throws {
    let named = try world.pair(host: "Server.Test.")
    #expect(try named.shake())
    #expect(try named.server.requestedName == "server.test")
    let numbered = try world.pair(host: "127.0.0.1")
    #expect(try numbered.shake())
    #expect(try numbered.server.requestedName == nil)
  }
}
