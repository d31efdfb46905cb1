import Foundation
import TestSupport
import Testing

/// The command over TLS, against the real server behind a relay.
@Suite("the command with a secure server")
struct SecureServerTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "moments-\(UUID().uuidString)")
  private let authority: TestCertificate
  private let server: TestCertificate

  init() throws {
    authority = try TestCertificate(.init(commonName: "Authority", isAuthority: true))
    server = try TestCertificate(.init(names: ["IP:127.0.0.1"]), signedBy: authority)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func file(_ name: String, _ contents: Data) throws -> String {
    let file = folder.appending(path: name)
    try contents.write(to: file)
    return file.path
  }

  private func relay(asking clientAuthority: TestCertificate? = nil) async throws -> TLSRelay {
    var settings = TLSServerSettings(certificate: server)
    settings.clientAuthority = clientAuthority
    return try await TLSRelay(to: BFFServer.shared().port, TLSServerContext(settings))
  }

  private func run(_ relay: TLSRelay, _ more: String...) async throws -> ChildProcess.State {
    try await Moments.run(["--endpoint", relay.url().appending(path: "graphql").absoluteString] + more)
  }

  @Test func `a server with a certificate of an own authority is trusted by --ca alone`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let relay = try await relay()
    try await run(relay).expectFailure(69, "secure connection failed")
    let result = try await run(relay, "--ca", file("ca.pem", authority.certificate))
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
  }

  @Test func `certificates and keys may come through pipes, which can be read once`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let client = try TestCertificate(.init(commonName: "Client", usage: "clientAuth"), signedBy: authority)
    let relay = try await relay(asking: authority)
    let script = #""$0" --endpoint "$1" --ca <(cat "$2") --cert <(cat "$3") --key <(cat "$4")"#
    let files = [
      try file("ca.pem", authority.certificate), try file("cert.pem", client.certificate),
      try file("key.pem", client.key),
    ]
    let url = relay.url().appending(path: "graphql").absoluteString
    let bash = try ChildProcess(
      URL(fileURLWithPath: "/bin/bash"), ["-c", script, RepositoryLayout.executable("moments").path, url] + files)
    let result = try await bash.waitForEnd()
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
  }

  @Test func `a server that requests a certificate receives the one of --cert and --key`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let client = try TestCertificate(.init(commonName: "Client", usage: "clientAuth"), signedBy: authority)
    let relay = try await relay(asking: authority)
    let ca = try file("ca.pem", authority.certificate)
    try await run(relay, "--ca", ca).expectFailure(69, "secure connection failed")
    let key = try file("key.pem", client.key)
    try await run(relay, "--ca", ca, "--cert", file("cert.pem", client.certificate), "--key", key).expectSuccess()
  }
}
