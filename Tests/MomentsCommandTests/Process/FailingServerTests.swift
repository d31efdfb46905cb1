import Foundation
import TestSupport
import Testing

@Suite("the command with servers that fail")
struct FailingServerTests {
  private func run(_ server: ScriptedServer, _ more: String...) async throws -> ChildProcess.State {
    try await Moments.run(more + ["--endpoint", server.url.absoluteString])
  }

  @Test(arguments: [
    (400, Int32(65), "HTTP status"), (401, 77, "HTTP status"), (403, 77, "HTTP status"), (404, 65, "HTTP status"),
    (418, 65, "HTTP status"), (429, 69, "rate limited"), (500, 69, "HTTP status"), (502, 69, "HTTP status"),
    (503, 69, "HTTP status"), (600, 69, "HTTP status"), (204, 65, "not decodable"), (304, 65, "HTTP status"),
  ])
  func `each status has its exit code`(status: Int, code: Int32, kind: String) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(status, contentType: "text/plain", body: "sorry") })
    try await run(server, "--retries", "0").expectFailure(code, kind)
  }

  @Test func `a challenge for a password ends with 77 and does not hang`() async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(401, headers: [("WWW-Authenticate", #"Basic realm="x""#)], body: "{}") })
    try await run(server).expectFailure(77, "HTTP status")
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirect ends with 69, and the other server sees nothing`(status: Int) async throws {
    let other = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.plain) })
    let target = other.url.absoluteString
    let server = try ScriptedServer(.answering { _ in RawResponse(status, headers: [("Location", target)]) })
    try await run(server).expectFailure(69, "redirect refused")
    #expect(other.log.value.connections.isEmpty)
  }

  /// A sanitizer has memory of its own.
  private static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  @Test(
    .enabled(if: !isSanitized),
    arguments: [
      (#"{"errors":[{"message":"m","extensions":{"a":["#, "1,", #"0],"code":"X"}}]}"#),
      (#"{"errors":[{"message":"m","extensions":{"code":"X"},"path":["#, "1,", "0]}]}"),
      (#"{"extensions":["#, "{},", #"0],"errors":[{"message":"m","extensions":{"code":"X"}}]}"#),
    ])
  func `T3: a response below the limit takes little more memory than its bytes`(
    start: String, piece: String, end: String
  ) async throws {
    let size = 8 << 20
    let body = start + String(repeating: piece, count: size / piece.utf8.count) + end
    let server = try ScriptedServer(.answering { _ in RawResponse(body: body) })
    // Not the peak that the system tells of a child, which begins with that of this process.
    let limit = "ulimit -d \((5 * size + 32 << 20) >> 10); exec \"$0\" \"$@\""
    let command = [try RepositoryLayout.executable("moments").path, "--endpoint", server.url.absoluteString]
    let result = try await ChildProcess.run(URL(filePath: "/bin/sh"), ["-c", limit] + command)
    result.expectFailure(65, "GraphQL", saying: "[X]")
  }

  @Test func `a refused connection ends with 69`() async throws {
    let port = try RefusingPort()
    try await Moments.run(["--endpoint", "http://127.0.0.1:\(port.port)/"]).expectFailure(69, "cannot connect")
  }

  @Test func `a host that does not exist ends with 69`() async throws {
    try await Moments.run(["--endpoint", "https://moments.invalid/"]).expectFailure(69, "cannot connect")
  }

  @Test(arguments: [
    ScriptedServer.Fault.closedBeforeHeaders, .closedInStatusLine, .closedInHeaders, .closedAfterHeaders,
    .resetBeforeHeaders, .resetAfterHeaders, .resetInBody, .truncatedContentLength, .truncatedChunked, .truncatedChunk,
    .truncatedGzip,
  ])
  func `a connection that ends early ends with 69`(fault: ScriptedServer.Fault) async throws {
    try await run(ScriptedServer(fault), "--retries", "0").expectFailure(69, "connection lost")
  }

  @Test(arguments: [
    (RawResponse(contentType: "image/png", body: TimelineJSON.plain), "the server sent image/png"),
    (RawResponse(body: TimelineJSON.plain.bytes(replacing: "早安", with: [0xC3, 0x28])), "UTF-8"),
    (RawResponse(body: TimelineJSON.plain.replacing("}]}}}", with: "},]}}}")), "expected a value"),
    (RawResponse(body: TimelineJSON.plain + "}"), "expected nothing more"),
    (RawResponse(contentType: "text/html", body: "<!doctype html>"), "the server sent text/html"),
    (RawResponse(), "body is empty"),
  ])
  func `a response with one flaw in it ends with 65, and the flaw is named`(answer: RawResponse, flaw: String)
    async throws
  {
    try await run(ScriptedServer(.answering { _ in answer })).expectFailure(65, "not decodable", saying: flaw)
  }

  @Test func `a response without end is cut off and ends with 65`() async throws {
    try await run(ScriptedServer(.endlessBody), "--timeout", "60").expectFailure(65, "too large")
  }

  @Test(arguments: [
    ScriptedServer.Fault.neverAnswering, .neverFinishing, .drippingHeaders, .drippingBody,
  ])
  func `a server that takes too long ends with 69`(fault: ScriptedServer.Fault) async throws {
    try await run(ScriptedServer(fault), "--timeout", "0.3").expectFailure(69, "timed out")
  }

  @Test func `a connection that never stands ends with 69`() async throws {
    let port = try UnansweredPort()
    try await Moments.run(["--endpoint", "http://127.0.0.1:\(port.port)/", "--timeout", "0.3"])
      .expectFailure(69, "timed out")
  }

  @Test(
    arguments: [
      (#"{"data":null,"errors":[{"message":"m","extensions":{"code":"UNAUTHENTICATED"}}]}"#, Int32(77)),
      (#"{"errors":[{"message":"a"},{"message":"b","extensions":{"code":"UNAUTHENTICATED"}}]}"#, 77),
      (#"{"data":null,"errors":[{"message":"m"}]}"#, 65),
      (#"{"data":null,"errors":[{"message":"m","extensions":{"code":"FORBIDDEN"}}]}"#, 65),
      (#"{"data":{"getMomentsDetailsByUserID":\#(TimelineJSON.details)},"errors":[{"message":"m"}]}"#, 65),
    ] as [(String, Int32)])
  func `GraphQL errors end with 65, or 77 where a token is wanted`(body: String, code: Int32) async throws {
    try await run(ScriptedServer(.answering { _ in RawResponse(body: body) })).expectFailure(code, "GraphQL")
  }

  @Test(arguments: [
    #"{}"#, #"{"data":null}"#, #"{"data":{}}"#, #"{"data":{"getMomentsDetailsByUserID":null}}"#, "[]", "null", "3",
  ])
  func `a response without a timeline ends with 65`(body: String) async throws {
    try await run(ScriptedServer(.answering { _ in RawResponse(body: body) })).expectFailure(65, "not decodable")
  }

  @Test func `a missing field is named with its path`() async throws {
    let details = TimelineJSON.details.replacing(#""createdDate":"1605521360","#, with: "")
    let server = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.answer(details)) })
    try await run(server).expectFailure(65, "not decodable", saying: "moments[0].createdDate")
  }

  @Test(arguments: [400, 500, 200])
  func `a token or a header's value that the server sends back is shown nowhere`(status: Int) async throws {
    let server = try ScriptedServer(
      .answering { request in
        let text = "\(request["Authorization"] ?? "") and \(request["X-Api-Key"] ?? "")"
        return RawResponse(
          status, headers: [("X-Echo", text)], body: #"{"data":null,"errors":[{"message":"\#(text)"}]}"#)
      })
    let result = try await Moments.run(
      ["--verbose", "--header", "X-Api-Key: canary-key-5678", "--endpoint", server.url.absoluteString],
      environment: ["MOMENTS_TOKEN": "canary-token-1234"])
    #expect(try await server.waitForRequests().first?["X-Api-Key"] == "canary-key-5678")
    #expect(result.exitCode == (status == 500 ? 69 : 65))
    #expect(result.errorText.contains("<redacted>"))
    #expect(!result.errorText.contains("canary"))
  }

  @Test func `text in errors drives no terminal`() async throws {
    let evil = #"\u001b[2J\u009b31m\u202e\r\n\u200b"#
    for body in [#"{"errors":[{"message":"\#(evil)"}]}"#, "\u{1B}[2J\u{9B}\u{202E}\n"] {
      let server = try ScriptedServer(.answering { _ in RawResponse(400, body: body) })
      let result = try await run(server)
      #expect(result.exitCode == 65)
      #expect(result.errorText.filter { $0 == "\n" }.count == 1)
      let scalars = result.errorText.unicodeScalars.dropLast()
      #expect(scalars.allSatisfy { ![.control, .format, .lineSeparator].contains($0.properties.generalCategory) })
    }
  }
}
