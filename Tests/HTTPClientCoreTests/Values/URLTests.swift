import Foundation
import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct URLTests {
  @Test(arguments: [
    "http://example.com", "https://example.com/graphql?a=b%20c", "HTTPS://EXAMPLE.com", "http://127.0.0.1:8080/",
    "http://[::1]:1/", "http://[fe80::1%25eth0]/", "https://xn--n-nga1b.de", "https://ünï.de", "http://a_b.local:65535",
    "http://h:/x", "http://[0:0:0:0:0:ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]/", "http://[1:2:3:4:5:6:7:8]/",
  ])
  func `an absolute http or https URL with a host is valid`(text: String) throws {
    #expect(throws: Never.self) { try HTTPTarget(url(text)) }
    #expect(try HTTPRequest(method: .get, url: url(text)).url == url(text))
  }

  @Test(arguments: [
    "", "/graphql", "graphql", "//example.com/", "example.com", "example.com:80", "ftp://example.com", "file:///etc",
    "ws://h", "data:text/plain,x", "http:", "http:example.com", "http://", "http:///x", "http://:80/", "https://?a",
    "http://user@h/", "http://user:pw@h/", "http://:pw@h/", "http://@h/", "http://h#", "http://h/#f", "http://h:0/",
    "http://h:65536/", "http://h:99999999999/", "http://h\\@evil/",
    "http://[1:2:3:4:5:6:7]/", "http://[0:0:0:0:0:0:ffff:192.0.2.1]/",
  ])
  func `a text that is no http URL throws`(text: String) {
    let error = #expect(throws: (any Error).self) { try HTTPTarget(url(text)) }
    if let error = error as? RequestError { #expect(error.kind == .invalidRequest) }
  }

  @Test(arguments: [
    "http://a%0d%0ab/", "http://a%00/", "http://a%20b/", "http://a%2fb/", "http://a%40b/", "http://a%3ab/",
    "http://a%23/", "http://a%3f/", "http://a%E2%80%AE/",
  ])
  func `T1: a host that hides what no host holds behind percent signs throws`(text: String) throws {
    let error = #expect(throws: RequestError.self) { try HTTPTarget(url(text)) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `T1: a control character in a URL throws, or is percent-encoded`() {
    for control in controls {
      for text in ["http://a\(control)b/", "http://h/a\(control)b", "http://h/?a=\(control)b", "\(control)http://h/"] {
        guard let url = try? url(text), let request = try? HTTPRequest(method: .get, url: url) else { continue }
        #expect(request.url.absoluteString.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      }
    }
  }

  @Test(arguments: [
    "http://localhost", "http://LocalHost:80", "http://127.0.0.1", "http://127.255.255.254:1", "http://[::1]:8080/x",
    "http://[0:0:0:0:0:0:0:1]/", "http://[0::0.0.0.1]/",
  ])
  func `loopback is localhost, the net 127 and one address of version 6`(text: String) throws {
    #expect(try HTTPTarget(url(text)).isLoopback)
  }

  @Test(arguments: [
    "http://example.com", "http://localhost.example.com", "http://127.0.0.1.example.com", "http://128.0.0.1",
    "http://127.0.0", "http://127.0.0.256", "http://127.0.0.1.1", "http://127.+0.0.1", "http://127.-0.0.1",
    "http://127..0.1", "http://127.0.0.", "http://0.0.0.0", "http://10.0.0.1", "http://[::2]", "http://[::]",
    "http://127.0.0.1%2eexample.com", "http://127.0.0.1@example.com", "/localhost", "http://127.0.0.1a",
    "http://127.09.0.1",
    "http://127.0.0.08", "http://127.00.0.1",
  ])
  func `everything else is not loopback`(text: String) {
    #expect((try? HTTPTarget(url(text)))?.isLoopback != true)
  }

  @Test(arguments: [
    ("http://[fe80::1%25eth0]:80/graphql", "?", "/graphql"), ("https://API.example.com", "?", "/"),
    ("http://h/graphql?", "", "/graphql?"), ("http://h/graphql?b=2", "&", "/graphql?b=2"),
  ])
  func `a URL whose query was added to is spelled as it was given`(text: String, joint: String, path: String) throws {
    let target = try HTTPTarget(url(text)).adding(query: "a=1").adding(query: "c=%20")
    #expect(target.url.absoluteString == "\(text)\(joint)a=1&c=%20")
    #expect(target.path == "\(path)\(joint)a=1&c=%20")
    #expect(target.length == target.text.utf8.count)
  }

  @Test(arguments: [
    ("2001:DB8:0:0::1", "2001:db8::1"), ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
    ("0:0:0:0:0:0:0:1", "::1"), ("::FFFF:c000:201", "::ffff:192.0.2.1"), ("1:0:0:2::3", "1:0:0:2::3"),
    ("FE80:0::1%25Eth0", "fe80::1%Eth0"),
  ])
  func `an IPv6 address has one form, however it was written`(text: String, host: String) throws {
    let target = try HTTPTarget(url("http://[\(text)]:8080/x"))
    #expect(target.host == host)
    #expect(target.authority == "[\(host.prefix { $0 != "%" })]:8080")
    #expect(HTTPOrigin(of: try url("http://[\(text)]/")).host == host)
  }

  @Test(arguments: ["1:2:3:4:5:6:7:8:9", ":::1", "1::2::3", "12345::", "::1.2.3", "::256.0.0.1", "g::"])
  func `what only looks like an IPv6 address throws`(text: String) {
    #expect(throws: (any Error).self) { try HTTPTarget(url("http://[\(text)]/")) }
  }

  @Test func `a zone tells the texts of two servers apart, and is not sent to them`() throws {
    let targets = try ["eth0", "eth1"].map { try HTTPTarget(url("http://[FE80::1%25\($0)]:8080/x")) }
    #expect(targets.map(\.text) == ["http://[fe80::1%25eth0]:8080/x", "http://[fe80::1%25eth1]:8080/x"])
    #expect(targets.map(\.authority) == ["[fe80::1]:8080", "[fe80::1]:8080"])
    #expect(targets.map(\.length) == targets.map(\.text.utf8.count))
  }

  @Test func `the description of a URL holds no user, password, query value or fragment`() throws {
    let text = "https://user-\(canary):\(canary)@h:81/a%20b?token=\(canary)&flag&x=#\(canary)"
    let shown = try url(text).shownSafely
    #expect(!shown.contains(canary))
    #expect(shown == "https://h:81/a b?token=…&…&x=…")
  }

  @Test func `the description of a query without names says only that there is one`() throws {
    #expect(try url("https://h/?\(canary)").shownSafely == "https://h/?…")
    #expect(try url("https://h/?\(canary)&a=\(canary)").shownSafely == "https://h/?…&a=…")
  }

  @Test func `errors about a URL show none of its secrets`() throws {
    for text in [
      "ftp://u:\(canary)@h/?a=\(canary)", "http://u:\(canary)@h/", "http://h/?a=\(canary)#\(canary)",
      "http:///?a=\(canary)", "http://h:0/?a=\(canary)", "\(canary)x:\(canary)",
    ] {
      let error = try #require(throws: RequestError.self) { try HTTPTarget(url(text)) }
      #expect(!error.description.contains("=\(canary)"), "\(error)")
      #expect(!error.description.contains(":\(canary)@"), "\(error)")
      #expect(!error.description.contains("#\(canary)"), "\(error)")
    }
  }

  @Test func `S5: percent-encoded controls are shown escaped`() throws {
    #expect(try url("http://h/a%0Ab%1B%E2%80%AE").shownSafely == #"http://h/a\nb\u{1B}\u{202E}"#)
    #expect(try url("http://h/" + String(repeating: "a", count: 2000)).shownSafely.utf8.count < 600)
  }
}
