import CommandLineBase
import Foundation
import HTTPClientCore
import Networking
import SocketHTTP
import TestSupport
import Testing

@testable import moments

#if URLSession
  import URLSessionHTTP
#endif

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

struct BearerTokenTests {
  @Test func `a token becomes an authorization header`() throws {
    #expect(try BearerToken("a.b-c_d~e+f/g==|1").authorization == "Bearer a.b-c_d~e+f/g==|1")
  }

  @Test(arguments: ["", " canary", "canary\n", "can ary", "can\r\nary: x", "canary\u{7F}", "canäry", "canary\t"])
  func `a token that is no header value is wrong usage, and is not shown`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try BearerToken(text) }
    #expect(error.message.contains("MOMENTS_TOKEN"))
    #expect(!error.message.contains("canary"))
    #expect(!error.message.contains("äry"))
  }

  @Test func `no print or dump shows the token`() throws {
    let arguments = try Arguments([], environment: ["MOMENTS_TOKEN": "canary"])
    var dumped = ""
    dump(arguments, to: &dumped)
    #expect(dumped.contains("<redacted>"))
    #expect(!dumped.contains("canary"))
    #expect(!"\(arguments)".contains("canary"))
    #expect(!String(reflecting: arguments).contains("canary"))
  }

  @Test func `an empty token counts as none, and arguments cannot hold one`() throws {
    #expect(try Arguments([], environment: ["MOMENTS_TOKEN": ""]).token == nil)
    #expect(throws: UsageError.self) { try Arguments([], environment: ["MOMENTS_TOKEN": "a b"]) }
    #expect(throws: UsageError.self) { try Arguments(["--token", "canary"]) }
  }
}

struct HTTPFieldArgumentTests {
  @Test(arguments: [
    ("X-A: 1", "X-A", "1"), ("X-A:1", "X-A", "1"), ("X-A:  1  ", "X-A", "1"), ("X-A:", "X-A", ""),
    ("X-A:  ", "X-A", ""), ("a!#$%&'*+-.^_`|~9: b: c", "a!#$%&'*+-.^_`|~9", "b: c"), ("X-A: 早 安", "X-A", "早 安"),
  ])
  func `a field is split at its first colon`(text: String, name: String, value: String) throws {
    let header = try HTTPField(argument: text)
    #expect(header.name == name)
    #expect(header.value == value)
  }

  @Test(arguments: [
    "", "X-A", ":", ": 1", " X-A: 1", "X-A : 1", "X A: 1", "X\r\nB: 1", "早: 1", "X(: 1", "X-A: a\r\nX-B: b", "X-A: a\n",
    "X-A: \u{0}", "X-A: a\tb", "X-A: \u{85}", "X-A: \u{7F}", "X-A: \u{1B}[31m",
  ])
  func `a broken field is wrong usage`(text: String) {
    #expect(throws: UsageError.self) { try HTTPField(argument: text) }
  }

  @Test(arguments: ["Authorization: Bearer canary", "proxy-authorization: canary", "COOKIE: id=canary"])
  func `credentials as an argument are wrong usage, and are not shown`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try HTTPField(argument: text) }
    #expect(error.message.contains("MOMENTS_TOKEN"))
    #expect(!error.message.contains("canary"))
  }

  @Test func `the error of a broken value does not show it`() throws {
    let error = try #require(throws: UsageError.self) { try HTTPField(argument: "X-Key: canary\u{1}") }
    #expect(error.message.contains("X-Key"))
    #expect(!error.message.contains("canary"))
  }

  @Test func `no print or dump of the arguments shows a value`() throws {
    let arguments = try Arguments(["--header", "X-Key: canary"])
    var dumped = ""
    dump(arguments, to: &dumped)
    #expect(!dumped.contains("canary"))
    #expect(!"\(arguments)".contains("canary"))
  }
}

struct TimeoutTests {
  @Test(arguments: [
    ("1", Duration.seconds(1)), ("0.25", .milliseconds(250)), (".5", .milliseconds(500)), ("2.", .seconds(2)),
    ("0.001", .milliseconds(1)), ("86400", .seconds(86_400)), ("007", .seconds(7)),
  ])
  func `seconds are decimal, with fractions`(text: String, expected: Duration) throws {
    let difference = try Timeout.duration(text) - expected
    #expect(difference < .microseconds(1))
    #expect(difference > .microseconds(-1))
  }

  @Test(arguments: [
    "", ".", "0", "0.0", "-1", "+1", "0.0009", "86400.001", "nan", "NaN", "inf", "infinity", "1e3", "0x10", "1,5", "1 ",
    " 1", "1s", "1_000", "１", "٣", "1.2.3", "1\n", "9999999999999999999999999999999999999999999", "five",
  ])
  func `anything else is wrong usage`(text: String) {
    #expect(throws: UsageError.self) { try Timeout.duration(text) }
  }
}

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
    #expect(options.kind == .socket)
    #expect(options.authority == file)
    #expect(options.certificate == file)
    #expect(options.key == file)
    #expect(options.tls.identity != nil)
    #expect(options.transport() is SocketTransport)
    #expect(try Arguments([]).transport.transport() is PlatformTransport)
  }

  @Test func `a version of HTTP can be given`() throws {
    #expect(try Arguments(["--http", "1.1"]).transport.versions == .http1)
    #expect(try Arguments(["--http", "2"]).transport.versions == .priorKnowledge)
    #expect(try Arguments([]).transport.versions == nil)
  }

  #if URLSession
    @Test func `the transport on URLSession can be given`() throws {
      #expect(try Arguments(["--transport=urlsession"]).transport.transport() is URLSessionTransport)
    }
  #else
    @Test func `a transport that was not built in is wrong usage, and the message says how to build it in`() {
      let error = #expect(throws: UsageError.self) { try Arguments(["--transport=urlsession"]) }
      #expect(error?.message.contains("--traits SocketHTTP,URLSession") == true)
    }
  #endif

  @Test(arguments: [
    ["--transport", "pigeon"], ["--cert", #filePath], ["--key", #filePath], ["--ca", "/nowhere/ca.pem"],
    ["--cert", "/nowhere/a.pem", "--key", "/nowhere/b.pem"], ["--transport", "urlsession", "--ca", #filePath],
    ["--http", "3"], ["--http=2", "--transport", "urlsession"],
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
