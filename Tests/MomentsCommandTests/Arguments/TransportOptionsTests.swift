import Foundation
import HTTP
import Networking
import SocketHTTP
import TestSupport
import Testing
import URLSessionHTTP

@testable import moments

final class TransportOptionsTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "moments-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A file of a certificate and its key.
  private func file(_ name: String) throws -> String {
    let certificate = try TestCertificate(.init(names: ["DNS:localhost"]))
    let file = folder.appending(path: name)
    try (certificate.certificate + certificate.key).write(to: file)
    return file.path
  }

  @Test func `a transport, an authority and an identity can be given`() throws {
    let file = try file("a.pem")
    let options = try Arguments(["--transport", "socket", "--ca", file, "--cert", file, "--key", file]).transport
    #expect(options.kind == .socket && options.authority == file)
    #expect(options.certificate == file && options.key == file && options.tls.identity != nil)
    #expect(options.transport() is SocketTransport)
    #expect(try Arguments(["--transport=urlsession"]).transport.transport() is URLSessionTransport)
    #expect(try Arguments([]).transport.transport() is PlatformTransport)
  }

  @Test(arguments: [
    ["--transport", "pigeon"], ["--cert", #filePath], ["--key", #filePath], ["--ca", "/nowhere/ca.pem"],
    ["--cert", "/nowhere/a.pem", "--key", "/nowhere/b.pem"], ["--transport", "urlsession", "--ca", #filePath],
  ])
  func `options that contradict each other, or cannot be read, are wrong usage`(arguments: [String]) {
    #expect(throws: UsageError.self) { try Arguments(arguments) }
  }

  @Test func `a file without a certificate, or without its key, is wrong usage, and is named`() throws {
    let (file, other) = (try file("a.pem"), try file("b.pem"))
    for (arguments, name) in [
      (["--ca", "/tmp"], "'/tmp'"), (["--ca", #filePath], #filePath),
      (["--cert", file, "--key", #filePath], #filePath),
      (["--cert", #filePath, "--key", file], #filePath), (["--cert", file, "--key", other], "do not fit"),
    ] {
      let error = #expect(throws: UsageError.self) { try Arguments(arguments) }
      #expect(error?.message.contains(name) == true)
    }
  }

  @Test func `cleartext to another machine needs a yes, wherever that stands`() throws {
    let endpoint = ["--endpoint", "http://example.com/"]
    #expect(throws: UsageError.self) { try Arguments(endpoint) }
    for arguments in [endpoint + ["--allow-cleartext"], ["--allow-cleartext"] + endpoint] {
      #expect(try Arguments(arguments).endpoint?.url.host() == "example.com")
    }
  }
}
