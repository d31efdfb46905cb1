import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Certificates and keys whose files are replaced while sessions are made of them.
final class TLSReloadTests {
  private let world: TLSWorld
  private let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
  private let reloads = Monitor<[RequestError?]>([])
  private lazy var client = TLSContext(
    TLSConfiguration(
      trust: .only(.file(path("ca"))),
      identity: ClientIdentity(certificates: .file(path("certificate")), privateKey: .file(path("key"))))
  ) { [reloads] error in reloads.update { $0.append(error) } }

  init() throws {
    world = try TLSWorld.shared.get()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try write(world.authority.certificate, to: "ca")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func path(_ name: String) -> String { folder.appending(path: name).path() }

  private func write(_ data: Data, to name: String) throws {
    try data.write(to: folder.appending(path: name), options: .atomic)
  }

  private func identity(of authority: TestCertificate) throws -> TestCertificate {
    try TestCertificate(.init(commonName: "client"), signedBy: authority)
  }

  /// Whether a server that asks for a certificate of this authority is content.
  private func isAccepted(by authority: TestCertificate) throws -> Bool {
    var settings = TLSServerSettings(certificate: world.server).only(.tls12)
    settings.clientAuthority = authority
    return try TLSPair(client, TLSServerContext(settings)).shake()
  }

  @Test func `a new certificate is shown once its key is there, and until then the old one`() throws {
    let (old, new) = (try identity(of: world.strangeAuthority), try identity(of: world.authority))
    try write(old.chain, to: "certificate")
    try write(old.key, to: "key")
    #expect(try isAccepted(by: world.strangeAuthority))
    try client.prepare()
    #expect(reloads.value.isEmpty)

    try write(new.chain, to: "certificate")
    for count in 1...2 {
      try client.prepare()
      #expect(reloads.value.count == count)
      #expect(reloads.value.last??.kind == .insecure)
      #expect(try isAccepted(by: world.strangeAuthority))
    }

    try write(new.key, to: "key")
    try client.prepare()
    #expect(reloads.value.count == 3)
    #expect(reloads.value[2] == nil)
    #expect(try isAccepted(by: world.authority))
    #expect(try !isAccepted(by: world.strangeAuthority))
    try client.prepare()
    #expect(reloads.value.count == 3)
  }

  @Test func `an authority that is no longer in the file is no longer trusted`() throws {
    let identity = try identity(of: world.authority)
    try write(identity.chain, to: "certificate")
    try write(identity.key, to: "key")
    #expect(try world.pair(client).shake())
    try write(world.strangeAuthority.certificate, to: "ca")
    try client.prepare()
    #expect(try world.pair(client).shake() == false)
    // A file that is missing, or not yet written, changes nothing.
    try FileManager.default.removeItem(atPath: path("ca"))
    try client.prepare()
    try write(Data("-----BEGIN CERT".utf8), to: "ca")
    try client.prepare()
    #expect(reloads.value.map { $0?.kind } == [nil, .insecure, .insecure])
    try write(world.authority.certificate, to: "ca")
    try client.prepare()
    #expect(try world.pair(client).shake())
  }

  @Test(arguments: TLSSessionTests.versions)
  func `a session that was begun with other files is not resumed`(version: TLSServerSettings.Version) throws {
    let identity = try identity(of: world.authority)
    try write(identity.chain, to: "certificate")
    try write(identity.key, to: "key")
    let server = try TLSServerContext(TLSServerSettings(certificate: world.server).only(version))
    func connect() throws -> (isResumed: Bool, finish: () throws -> Void) {
      let pair = try TLSPair(client, server)
      try #require(try pair.shake())
      return (
        pair.client.isResumed,
        {
          try pair.server.write(Data("moment".utf8))
          _ = try pair.answer()
        }
      )
    }
    let first = try connect()
    try first.finish()
    #expect(try connect().isResumed)
    let open = try connect()
    try write(world.authority.certificate, to: "ca")
    try client.prepare()
    // Its tickets come only now.
    try open.finish()
    #expect(try !connect().isResumed)
  }
}
