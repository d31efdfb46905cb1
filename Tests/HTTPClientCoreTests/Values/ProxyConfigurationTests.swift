import Foundation
import HTTPTestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

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

  @Test func `S3: no print or dump of a configuration shows the proxy's password`() {
    var configuration = SocketTransport.Configuration()
    configuration.proxy = ProxyConfiguration(environment: ["http_proxy": "http://me:canary-1@one:3128"])
    var dumped = ""
    dump(configuration, to: &dumped)
    let secret = Data("me:canary-1".utf8).base64EncodedString()
    #expect(dumped.contains("one:3128"))
    #expect(!dumped.contains("canary"))
    #expect(!dumped.contains(secret))
  }

  @Test func `HTTP_PROXY is not read, for a client of a web server can set it`() throws {
    #expect(try server(["HTTP_PROXY": "http://evil:1"], for: "http://example.com/") == nil)
    #expect(try server(["HTTPS_PROXY": "http://two:1"], for: "https://example.com/") == "two:1")
  }

  @Test func `S3: passwords that look alike are taken out of texts, each of them`() throws {
    for password in ["password-%C3%A9", "password-e%CC%81"] {
      _ = ProxyConfiguration(environment: ["http_proxy": "http://me:\(password)@one:3128"])
    }
    let redactor = Redactor(secretsOf: try request())
    for password in ["password-\u{e9}", "password-e\u{301}"] {
      #expect(redactor.redact("-\(password)-") == "-<redacted>-")
    }
  }

  @Test(arguments: ["http://localhost/", "http://127.0.0.1:8080/", "http://127.9.9.9/", "http://[::1]/"])
  func `a proxy is never used to reach this machine`(_ text: String) throws {
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
    for exclusions in [
      "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80", "10.0.0.1 2001:db8::1", "2001:DB8:0:0::1",
      "[2001:0db8::0:1]:80",
    ] {
      let environment = ["http_proxy": "http://one:3128", "no_proxy": exclusions]
      for host in ["2001:db8::1", "2001:DB8:0:0::1"] {
        #expect(try server(environment, for: "http://[\(host)]/") == nil)
      }
    }
    #expect(try server(["http_proxy": "http://one:3128"], for: "http://[0:0:0:0:0:0:0:1]/") == nil)
  }

  /// As `curl` 7.88 does.
  @Test(arguments: [
    ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("10.0.0.0/8", "ten.example", false),
    ("192.168.4.0/22", "192.168.7.255", true), ("192.168.4.0/22", "192.168.8.0", false), ("0.0.0.0/0", "8.8.8.8", true),
    ("fd00::/8", "[fd12::1]", true), ("fd00::/8", "[fe80::1]", false), ("10.0.0.0/33", "10.0.0.1", false),
    ("10.0.0.1/32", "10.0.0.1", true), ("example.com.", "www.example.com", true), ("example.com", "example.com.", true),
    (".example.com", "example.com", true), ("le.com", "example.com", false),
  ])
  func `no_proxy knows blocks of addresses, and dots at either end`(
    exclusion: String, host: String, isLeftOut: Bool
  ) throws {
    let environment = ["http_proxy": "http://one:3128", "no_proxy": "other.example, \(exclusion)"]
    #expect(try (server(environment, for: "http://\(host)/") == nil) == isLeftOut)
  }

  @Test func `all_proxy is that of schemes without one of their own`() throws {
    for name in ["all_proxy", "ALL_PROXY"] {
      for url in ["http://example.com/", "https://example.com/"] {
        #expect(try server([name: "http://all:1"], for: url) != nil)
        #expect(try server([name: "http://all:1", "no_proxy": "example.com"], for: url) == nil)
      }
    }
    let environment = ["all_proxy": "http://all:1", "https_proxy": "http://secure:2"]
    #expect(try "\(server(environment, for: "https://example.com/") as Any)".contains("secure:2"))
    #expect(try "\(server(environment, for: "http://example.com/") as Any)".contains("all:1"))
  }

  @Test func `credentials are sent to the proxy alone, and not shown`() throws {
    let server = try ProxyServer("http://me:\(canary)@proxy:3128")
    #expect(server.authorization == "Basic \(Data("me:\(canary)".utf8).base64EncodedString())")
    #expect("\(server)" == "proxy:3128")
  }

  @Test(arguments: ["https://proxy:3128", "socks5://proxy:1080", "http://", "not a url", "http://a%3Ab:pw@proxy"])
  func `a proxy that cannot be used is an error`(_ text: String) throws {
    let error = #expect(throws: RequestError.self) {
      try ProxyConfiguration(http: text).server(for: HTTPTarget(url("http://example.com/")))
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: [
    "127.0.0.1:65616", "127.0.0.1:0", "127.0.0.1:99999999999999999999", "127.0.0.1%00.trusted.example:80",
    "proxy%0d%0a:80", "pro%20xy:80", "[::1:80", "[one]:80", "user:pa/\(canary)@proxy:80",
  ])
  func `a proxy whose host or port there cannot be is an error that names the variable`(_ place: String) throws {
    for (name, target) in [("http_proxy", "http://example.com/"), ("HTTPS_PROXY", "https://example.com/")] {
      let error = #expect(throws: RequestError.self) {
        try server([name: "http://me:\(canary)@\(place)"], for: target)
      }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.cause is WrongSettings)
      #expect(error?.message.contains("'\(name)'") == true)
      #expect(error?.message.contains(canary) == false)
    }
  }

  @Test func `S3: every redactor removes the credentials of proxies`() throws {
    let password = "proxy+\(canary)"
    let request = try request()
    _ = ProxyConfiguration(https: "http://me:\(password)@proxy:3128")
    let redactor = Redactor(secretsOf: request)
    let base64 = Data("me:\(password)".utf8).base64EncodedString()
    for secret in ["Basic \(base64)", base64, password, "me:\(password)", "proxy%2B\(canary)"] {
      #expect(redactor.redact("got '\(secret)'.") == "got '<redacted>'.")
    }
    _ = ProxyConfiguration(https: "http://user+\(canary)@proxy:3128")
    #expect(Redactor(secretsOf: request).redact("Access denied for user+\(canary).") == "Access denied for <redacted>.")
    // A name beside a password stands elsewhere, too.
    _ = ProxyConfiguration(https: "http://some.name:\(password)@proxy:3128")
    #expect(Redactor(secretsOf: request).redact("some.name@corp.example") == "some.name@corp.example")
  }
}
