import Foundation
import HTTP
import Testing

@testable import moments

struct TransportOptionsTests {
  private let file = #filePath

  @Test func `a transport, an authority and an identity can be given`() throws {
    let options = try Arguments(["--transport", "socket", "--ca", file, "--cert", file, "--key", file]).transport
    #expect(options == TransportOptions(kind: .socket, authority: file, certificate: file, key: file))
    #expect(options.transport() is SocketTransport)
    #expect(try Arguments(["--transport=urlsession"]).transport.transport() is URLSessionTransport)
    #expect(try Arguments([]).transport.transport() is PlatformTransport)
  }

  @Test(arguments: [
    ["--transport", "pigeon"], ["--cert", #filePath], ["--key", #filePath], ["--ca", "/nowhere/ca.pem"],
    ["--cert", "/nowhere/a.pem", "--key", "/nowhere/b.pem"], ["--transport", "urlsession", "--ca", #filePath],
  ])
  func `what does not go together, or cannot be read, is wrong usage`(arguments: [String]) {
    #expect(throws: UsageError.self) { try Arguments(arguments) }
  }

  @Test func `cleartext to another machine needs a yes, wherever that stands`() throws {
    let endpoint = ["--endpoint", "http://example.com/"]
    #expect(throws: UsageError.self) { try Arguments(endpoint) }
    for arguments in [endpoint + ["--allow-cleartext"], ["--allow-cleartext"] + endpoint] {
      #expect(try Arguments(arguments).endpoint?.url.host() == "example.com")
    }
  }
}
