import Foundation
import TestSupport
import Testing

@Suite("the command's retries and tokens")
struct ResilienceCommandTests {
  /// A server whose first connections answer by a status, and the next with a timeline. It says that it closes them, since
  /// what is sent on a connection that is about to close is an attempt, too.
  private func server(failing count: Int, _ status: Int = 503) throws -> ScriptedServer {
    try ScriptedServer { number in
      number < count
        ? [.readRequest, .send(RawResponse(status, headers: [("Connection", "close")])), .close]
        : .answering { _ in RawResponse(body: TimelineJSON.plain) }
    }
  }

  private func run(_ server: ScriptedServer, _ arguments: String...) async throws -> ChildProcess.State {
    try await Moments.run(arguments + ["--endpoint", server.url.absoluteString])
  }

  @Test(arguments: [(0, 1), (1, 2), (4, 5)])
  func `a timeline is requested again as often as --retries says`(retries: Int, requests: Int) async throws {
    let server = try server(failing: 9)
    try await run(server, "--retries", "\(retries)").expectFailure(69, "HTTP status")
    #expect(server.requests.count == requests)
  }

  @Test func `a timeline is requested twice more by default`() async throws {
    let server = try server(failing: 2)
    try await run(server).expectSuccess()
    #expect(server.requests.count == 3)
  }

  @Test func `a timeline is requested three times by default, and no more`() async throws {
    let server = try server(failing: 9)
    try await run(server).expectFailure(69, "HTTP status")
    #expect(server.requests.count == 3)
  }

  @Test func `a like is sent once`() async throws {
    let server = try server(failing: 9)
    try await run(server, "like", "m0-1", "--retries", "9").expectFailure(69, "HTTP status")
    #expect(server.requests.count == 1)
  }

  @Test func `--timeout is for all attempts together`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(503, headers: [("Retry-After", "30")]) })
    try await run(server, "--timeout", "2", "--retries", "9").expectFailure(69, "HTTP status")
    #expect(server.requests.count == 1)
  }

  @Test func `--verbose tells of attempts and their times`() async throws {
    let result = try await run(server(failing: 1), "--verbose")
    #expect(result.exitCode == 0)
    let name = "getMomentsDetailsByUserID: "
    let lines = result.errorText.split(separator: "\n").filter { $0.hasPrefix(name) }.map { $0.dropFirst(name.count) }
    #expect(lines.count == 4)
    #expect(lines.first?.wholeMatch(of: /attempt 1: status 503, HTTP\/1\.1, head after \d+ ms, \d+ ms/) != nil)
    #expect(lines.dropFirst().first?.wholeMatch(of: /again in \d+ ms: status 503/) != nil)
    #expect(lines.last?.wholeMatch(of: /succeeded after 2 attempts, \d+ bytes sent, \d+ received, \d+ ms/) != nil)
  }

  @Test(arguments: ["-1", "11", "+1", "1.5", "", "x"])
  func `--retries takes a number from 0 to 10`(value: String) async throws {
    try await Moments.run(["--retries=\(value)"]).expectFailure(64, "wrong usage", saying: "--retries")
  }

  @Test(arguments: ["http", "graphql"], ["expired-token", ""])
  func `a token that is taken no more is renewed, for likes too`(mode: String, token: String) async throws {
    let bff = try await BFFServer.start(arguments: ["--auth", mode])
    let result = try await Moments.run(
      ["like", "m1-1", "--user", "1", "--verbose", "--endpoint", bff.graphqlURL.absoluteString],
      environment: ["MOMENTS_TOKEN": token, "MOMENTS_REFRESH_TOKEN": "valid-refresh-token"])
    #expect(result.exitCode == 0)
    let operations = try await bff.stats().operations
    #expect(operations["refreshToken"] == 1)
    #expect(operations["updateMomentLike"] == 2)
    #expect(!result.errorText.contains("valid-refresh-token"))
    #expect(!result.errorText.contains("access-1"))
  }

  @Test func `S3: tokens in a response that cannot be read are shown nowhere`() async throws {
    let server = try ScriptedServer(
      .answering { request in
        guard String(decoding: request.body, as: UTF8.self).contains("mutation refreshToken") else {
          return RawResponse(401)
        }
        let token = #"{"accessToken":"canary-access","refreshToken":"canary-refresh","expiresAt":"today"}"#
        return RawResponse(
          headers: [("Content-Type", "application/json")], body: #"{"data":{"refreshToken":\#(token)}}"#)
      })
    let result = try await Moments.run(
      ["--verbose", "--endpoint", server.url.absoluteString], environment: ["MOMENTS_REFRESH_TOKEN": "a-refresh-token"])
    #expect(result.exitCode == 65)
    #expect(result.errorText.contains("refreshed"))
    #expect(!result.errorText.contains("canary"))
  }

  @Test func `a refresh token that is not taken ends with 77`() async throws {
    let bff = try await BFFServer.start(arguments: ["--auth", "http"])
    let result = try await Moments.run(
      ["--endpoint", bff.graphqlURL.absoluteString],
      environment: ["MOMENTS_TOKEN": "expired-token", "MOMENTS_REFRESH_TOKEN": "canary-refresh-token"])
    result.expectFailure(77, "GraphQL", saying: "could not be refreshed")
    #expect(!result.errorText.contains("canary"))
  }

  @Test func `a refresh token that the server sends back is shown nowhere`() async throws {
    let server = try ScriptedServer(
      .answering { request in
        let body = String(decoding: request.body, as: UTF8.self)
        guard body.contains("refreshToken") else { return RawResponse(401) }
        return RawResponse(body: #"{"errors":[{"message":"No good: canary-refresh-token"}]}"#)
      })
    let result = try await Moments.run(
      ["--verbose", "--endpoint", server.url.absoluteString],
      environment: ["MOMENTS_REFRESH_TOKEN": "canary-refresh-token"])
    #expect(server.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("canary") })
    #expect(result.exitCode == 77)
    #expect(result.errorText.contains("<redacted>"))
    #expect(!result.errorText.contains("canary"))
  }

  @Test func `a server without such a mutation ends with 77`() async throws {
    let server = try ScriptedServer(
      .answering { request in
        String(decoding: request.body, as: UTF8.self).contains("refreshToken")
          ? RawResponse(body: #"{"errors":[{"message":"Cannot query field 'refreshToken'"}]}"#) : RawResponse(401)
      })
    let result = try await Moments.run(
      ["--endpoint", server.url.absoluteString], environment: ["MOMENTS_REFRESH_TOKEN": "refresh-token"])
    result.expectFailure(77, "GraphQL", saying: "could not be refreshed")
  }
}
