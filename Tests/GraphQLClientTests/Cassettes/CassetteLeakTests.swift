import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import TestSupport
import Testing

/// S3: secrets in bodies that are no whole JSON, and under names that only resemble the usual ones.
@Suite struct CassetteLeakTests {
  private let folder: CassetteFolder

  init() throws { folder = try CassetteFolder() }

  private static let login = #"{"data": {"signIn": {"name": "wei", "accessToken": "CANARY-6f1d2c3b", "n": 1}}}"#

  private static func deep(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + login + String(repeating: "]", count: depth)
  }

  private static let broken: [(String, String)] = [
    ("cut behind the token", String(login.prefix(72))), ("cut within the token", String(login.prefix(62))),
    ("a lone surrogate", #"{"a": "\ud800", "token": "CANARY-6f1d2c3b"}"#),
    ("a trailing comma", #"{"token": "CANARY-6f1d2c3b",}"#), ("NaN", #"{"n": NaN, "token": "CANARY-6f1d2c3b"}"#),
    ("deeper than 100", deep(110)), ("a line break before it", "\n" + login), ("a prefix", ")]}'\n" + login),
    ("a prefix on its line", ")]}'," + login),
    ("pretty, and cut", "{\n  \"token\":\n    \"CANARY-6f1d2c3b\",\n  \"a\": ["),
    ("a list", #"[{"token": "CANARY-6f1d2c3b"}]"#), ("two of them", login + login),
    ("in a string", #"{"body": "{\"token\": \"CANARY-6f1d2c3b\", \"a\\\"\": 1}"}"#),
    ("in a string, pretty", #"{"body": "{\n  \"token\" : \"CANARY-6f1d2c3b\"\n}"}"#),
    ("in a string in a string", #"{"a": "{\"b\": \"{\\\"token\\\": \\\"CANARY-6f1d2c3b\\\"}\"}"}"#),
    ("in a string, and cut", #"{"body": "{\"token\": \"CANARY-6f1d2c3b"#),
    ("an escaped name, and cut", #"{"t\u006fken": "CANARY-6f1d2c3b", "#),
    ("an escaped value, and cut", #"{"token": "\u0043ANARY-6f1d2c3b", "again": "x"#),
    ("a list of them, cut", #"{"tokens": ["CANARY-6f1d2c3b", "CANARY-other-1"], "a": "#),
    ("an object of them, cut", #"{"credentials": {"user": "CANARY-6f1d2c3b", "n": 12345678"#),
    ("single quotes", "{'token': 'CANARY-6f1d2c3b'}"), ("no quotes around the name", #"{token: "CANARY-6f1d2c3b"}"#),
    ("in a URL", #"{"next": "https://h.example/cb?a=1&access_token=CANARY-6f1d2c3b&b=2"}"#),
    ("signed", #"{"url": "https://h.example/p.png?X-Amz-Signature=CANARY-6f1d2c3b&X-Amz-Date=1"}"#),
    ("encoded in a URL", #"{"next": "/cb?v=%7B%22token%22%3A%22CANARY-6f1d2c3b%22%7D"}"#),
    ("in a document", #"{"note": "mutation { signIn(password: \"CANARY-6f1d2c3b\") { id } }"}"#),
    ("escaped in HTML", "<b data-x=\"{&quot;token&quot;:&quot;CANARY-6f1d2c3b&quot;}\">"),
  ]

  @Test(arguments: broken, ["application/json", "text/plain", ""])
  func `S3: a secret is left out of a body that is no whole JSON`(body: (String, String), type: String) async throws {
    let headers = try HTTPHeaders(type.isEmpty ? [] : [HTTPField(name: "Content-Type", value: type)])
    try await folder.record(
      .post(body.1, type: "text/plain", headers: headers),
      response: .response(headers: headers, body: Data(body.1.utf8)))
    #expect(try !folder.text().contains("ANARY"), "\(body.0)")
    #expect(try folder.text().contains("redacted"))
  }

  @Test(arguments: [
    "event: next\ndata: {\"a\": 1,\ndata: \"token\":\ndata: \"CANARY-6f1d2c3b\"}\n\n",
    "event: next\r\ndata: {\r\ndata:   \"token\": \"CANARY-6f1d2c3b\"\r\ndata: }\r\n\r\n",
    "event: next\ndata: {\"a\": {\"tok",
    "data: {\"refreshToken\":\"CANARY-6f1d2c3b",
  ]) func `S3: a secret is left out of events whose JSON takes several lines, or is cut`(events: String) async throws {
    try await folder.record(
      .get("https://h.example/"),
      response: .response(headers: ["Content-Type": "text/event-stream"], body: Data(events.utf8)))
    #expect(try !folder.text().contains("ANARY"))
  }

  @Test func `S3: a secret is left out of pretty JSON in a part, and of a form's part`() async throws {
    let body = "--b\r\nContent-Type: application/json\r\n\r\n{\n  \"token\" : \"CANARY-6f1d2c3b\"\n}\r\n--b--"
    try await folder.record(
      .get("https://h.example/"),
      response: .response(headers: ["Content-Type": "multipart/mixed; boundary=b"], body: Data(body.utf8)))
    #expect(try !folder.text().contains("ANARY"))
  }

  @Test func `S3: a body that is cut within a character is searched, too`() async throws {
    let body = Data(#"{"token": "CANARY-6f1d2c3b", "name": "林"#.utf8).dropLast(1)
    try await folder.record(.post("{}"), response: .response(body: body))
    #expect(try !folder.text().contains("ANARY"))
    #expect(folder.names == ["run.json"])
  }

  @Test(arguments: [
    "resetToken", "tokens", "sessionId", "session_id", "code", "code_verifier", "assertion", "secretKey", "pwd",
    "X-CSRF-Token", "apiKey2", "oneTimePassword", "userPwd", "smsOtp", "clientSecret", "idTokenHint", "deviceCode",
  ])
  func `S3: a name is secret if a part of it is`(name: String) async throws {
    try await folder.record(
      .post(#"{"variables": {"\#(name)": "CANARY-one"}}"#),
      .post("a=1&\(name)=CANARY-two", type: "application/x-www-form-urlencoded"),
      .get("https://h.example/x?\(name)=CANARY-three"),
      response: .json(#"{"data": {"\#(name)": "CANARY-four", "list": [{"\#(name)": ["CANARY-five"]}]}}"#))
    #expect(try !folder.text().contains("CANARY"))
  }

  @Test(arguments: ["key", "code", "sig", "X-Amz-Signature", "signature"])
  func `S3: a parameter is secret that signs a URL`(name: String) async throws {
    try await folder.record(.get("https://h.example/x?\(name)=CANARY-three&page=2"))
    #expect(try !folder.text().contains("CANARY"))
    #expect(try folder.text().contains(#""text": "2""#))
  }

  @Test(arguments: [
    "tokenType", "token_expires_in", "passwordChangedAt", "countryCode", "key", "tokenCount", "author",
  ])
  func `a name that tells about a secret, or only resembles one, is recorded`(name: String) async throws {
    try await folder.record(.post("{}"), response: .json(#"{"data": {"\#(name)": "a value"}}"#))
    #expect(try folder.text().contains("a value"))
  }

  @Test func `the code of an error is recorded`() async throws {
    try await folder.record(
      .post("{}"),
      response: .json(#"{"errors": [{"message": "no", "extensions": {"code": "UNAUTHENTICATED"}}], "data": null}"#))
    #expect(try folder.text().contains("UNAUTHENTICATED"))
  }

  @Test(arguments: [
    ("https://wei:CANARY-pw@h.example/a", "https://h.example/a"),
    (
      "https://h.example/cb#access_token=CANARY-token&state=7",
      "https://h.example/cb#access_token=%3Credacted%3E&state=7"
    ),
    ("/cb?code=CANARY&page=2", "/cb?code=%3Credacted%3E&page=2"), ("/cb?CANARY-without-name", "/cb?%3Credacted%3E"),
    ("/reset/CANARY-known-1/new", "/reset/%3Credacted%3E/new"), ("/plain/path", "/plain/path"),
  ])
  func `S3: an address to go to is recorded without its secrets`(location: String, shown: String) async throws {
    try await folder.record(
      .post(#"{"password": "CANARY-known-1"}"#),
      .get("https://h.example/reset/CANARY-known-1/new"),
      response: .response(status: 302, headers: HTTPHeaders([HTTPField(name: "Location", value: location)])))
    let text = try folder.text()
    #expect(!text.contains("CANARY"))
    #expect(text.contains("Location: \(shown)"))
    let replaying = try ReplayingTransport(contentsOf: folder.file, order: .byOperation(repeats: true))
    _ = try await replaying.send(.get("https://h.example/reset/another-one/new")).collect(upTo: 100).value
    #expect(replaying.failures.allSatisfy { $0.hasPrefix("Not requested") })
  }

  @Test func `S3: a literal in a document is left out, and replayed with another`() async throws {
    let document = #"mutation { signIn(password: \"PASSWORD\") { id } }"#
    let post = { (password: String) in
      try HTTPRequest.post("{\"query\": \"\(document.replacing("PASSWORD", with: password))\"}")
    }
    try await folder.record(post("CANARY-6f1d2c3b"), response: .json("{}"))
    #expect(try !folder.text().contains("CANARY"))
    let replaying = try ReplayingTransport(contentsOf: folder.file)
    _ = try await replaying.send(post("another")).collect(upTo: 100).value
    #expect(replaying.failures == [])
  }

  @Test(arguments: [
    ("application/json", Data([0xFF, 0xFE, 0x7B, 0, 0x22, 0])), ("application/json", Data("{\"a\": \"\u{0}\"}".utf8)),
    ("text/event-stream", Data([0x64, 0xFF])), ("application/x-www-form-urlencoded", Data([0x61, 0x3D, 0xFF, 0x61])),
    ("image/png", Data([0x89, 0]) + Data(#"{"token": "CANARY-6f1d2c3b"}"#.utf8)),
  ])
  func `S3: a body that cannot be searched is refused, and the error says what to do`(type: String, body: Data)
    async throws
  {
    let error = await #expect(throws: CassetteError.self) {
      try await folder.record(
        .get("https://h.example/"),
        response: .response(headers: HTTPHeaders([HTTPField(name: "Content-Type", value: type)]), body: body))
    }
    #expect(error?.kind == .unreadable)
    #expect(error?.place == "exchanges[0].response.body")
    #expect(error?.message.contains("isResponseSecret") == true)
    #expect(folder.names == [])
  }

  @Test func `numbers of any size are compared by their value`() async throws {
    try await folder.record(.post(#"{"variables": {"n": 18446744073709551615}}"#))
    let replaying = try ReplayingTransport(contentsOf: folder.file)
    let other = try await replaying.send(.post(#"{"variables": {"n": 18446744073709551614}}"#)).collect(upTo: 9).failure
    #expect(other?.kind == .notRecorded)
    _ = try await replaying.send(.post(#"{"variables": {"n": 1.8446744073709551615e19}}"#)).collect(upTo: 9).value
  }
}
