import Foundation
import Testing

@testable import moments

struct EndpointTests {
  @Test(arguments: [
    "https://api.example.com/graphql", "https://api.example.com", "https://example.com:8443/a%20b?version=2",
    "http://localhost/graphql", "http://LOCALHOST:4000/", "http://127.0.0.1:65535/", "http://127.9.8.7/",
    "http://[::1]:4000/graphql", "https://[2001:db8::1]/", "https://xn--fsq.example/", "https://example.com:/",
    "HTTPS://example.com/",

  ])
  func `https, and http on this machine, are taken as they are`(text: String) throws {
    #expect(try Endpoint(text, from: "--endpoint").url.absoluteString == text)
  }

  @Test(arguments: [
    "", "graphql", "/graphql", "example.com/graphql", "//example.com/", "ftp://example.com/", "file:///etc/passwd",
    "https:", "https:/graphql", "https://", "https:///graphql", "https://:443/", "http s://example.com/",
    "https://exa mple.com/", " https://example.com/", "https://example.com/\n", "https://例え.jp/",
    "https://example.com:0/", "https://example.com:65536/", "https://example.com:x/", "https://[::1/",
    "https://example.com:99999999999999999999/", "https://%6cocalhost/", "https://example.com/\u{7F}", "javascript:1",
  ])
  func `an endpoint that is no http URL is wrong usage`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try Endpoint(text, from: "--endpoint") }
    #expect(error.message.hasPrefix("--endpoint"))
  }

  @Test(arguments: ["https://me:canary@example.com/", "https://canary@example.com/", "http://:canary@localhost/"])
  func `credentials in the URL are wrong usage, and are not shown`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try Endpoint(text, from: "--endpoint") }
    #expect(error.message.contains("MOMENTS_TOKEN"))
    #expect(!error.message.contains("canary"))
  }

  @Test func `a fragment is wrong usage`() throws {
    let error = try #require(throws: UsageError.self) { try Endpoint("https://example.com/#top", from: "--endpoint") }
    #expect(error.message.contains("fragment"))
  }

  @Test(arguments: [
    "http://example.com/", "http://10.0.0.1/", "http://0.0.0.0/", "http://128.0.0.1/", "http://127.1/",
    "http://2130706433/", "http://localhost.example.com/", "http://127.0.0.1.example.com/", "http://[::2]/",
    "http://[::]/", "http://[::ffff:10.0.0.1]/", "http://localhost@example.com/",
  ])
  func `cleartext to another machine is wrong usage`(text: String) {
    #expect(throws: UsageError.self) { try Endpoint(text, from: "--endpoint").checkCleartext() }
    #expect(throws: UsageError.self) { try Arguments(["--endpoint", text]) }
  }
}
