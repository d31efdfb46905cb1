import Foundation
import Testing

@testable import HTTP

@Suite struct ProxyConfigurationTests {
  private func server(_ environment: [String: String], for text: String) throws -> String? {
    try ProxyConfiguration(environment: environment).server(for: HTTPTarget(url(text)))?.description
  }

  @Test func `the variables name a proxy for each scheme`() throws {
    let environment = ["http_proxy": "http://one:3128", "https_proxy": "two:8080"]
    #expect(try server(environment, for: "http://example.com/") == "one:3128")
    #expect(try server(environment, for: "HTTPS://example.com/") == "two:8080")
    #expect(try server([:], for: "http://example.com/") == nil)
    #expect(try server(["http_proxy": ""], for: "http://example.com/") == nil)
  }

  @Test func `HTTP_PROXY is not read, for a client of a web server can set it`() throws {
    #expect(try server(["HTTP_PROXY": "http://evil:1"], for: "http://example.com/") == nil)
    #expect(try server(["HTTPS_PROXY": "http://two:1"], for: "https://example.com/") == "two:1")
  }

  @Test(arguments: ["http://localhost/", "http://127.0.0.1:8080/", "http://127.9.9.9/", "http://[::1]/"])
  func `this machine is never reached through a proxy`(_ text: String) throws {
    #expect(try server(["http_proxy": "http://one:3128"], for: text) == nil)
  }

  @Test(arguments: [
    ("example.com", true), (".example.com", true), ("com", true), ("*", true), ("other, example.com:80", true),
    ("ample.com", false), ("example.com:81", false), ("", false), ("other.example.com", false),
  ])
  func `no_proxy leaves out hosts and all below them`(exclusions: String, isLeftOut: Bool) throws {
    let environment = ["http_proxy": "http://one:3128", "no_proxy": exclusions]
    #expect(try (server(environment, for: "http://www.example.com/") == nil) == isLeftOut)
  }

  @Test func `no_proxy knows addresses, with and without brackets and ports`() throws {
    for exclusions in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80", "10.0.0.1 2001:db8::1"] {
      let environment = ["http_proxy": "http://one:3128", "no_proxy": exclusions]
      #expect(try server(environment, for: "http://[2001:db8::1]/") == nil)
    }
  }

  @Test func `credentials are for the proxy, and shown to nobody`() throws {
    let server = try #require(ProxyServer("http://me:\(canary)@proxy:3128"))
    #expect(server.authorization == "Basic \(Data("me:\(canary)".utf8).base64EncodedString())")
    #expect("\(server)" == "proxy:3128")
  }

  @Test(arguments: ["https://proxy:3128", "socks5://proxy:1080", "http://", "not a url"])
  func `a proxy that cannot be used is an error that does not repeat it`(_ text: String) throws {
    let error = #expect(throws: RequestError.self) {
      try ProxyConfiguration(http: text).server(for: HTTPTarget(url("http://example.com/")))
    }
    #expect(error?.kind == .invalidRequest)
  }
}
