import Foundation
import HTTPClientCore
import Networking
import StrictJSON
import TestSupport
import Testing

@Suite("the command with a GraphQL server")
struct ServerCommandTests {
  private func arguments(_ server: BFFServer, _ more: String...) -> [String] {
    more + ["--endpoint", server.graphqlURL.absoluteString]
  }

  /// What the server answers to the query of the command, asked by other means.
  private func timeline(_ server: BFFServer, userID: String, withLikes: Bool = true) async throws -> JSONValue {
    let body = JSONValue.object([
      "query": .string(GetMomentsByUserIDSession.Session.query.text),
      "variables": .object(["userID": .string(userID), "withLikes": .bool(withLikes)]),
    ])
    let answer = try await RawHTTP.post("/graphql", body: [UInt8](JSONEncoder().encode(body)), port: server.port)
    return try #require(JSONValue(answer.body)["data"]?["getMomentsDetailsByUserID"])
  }

  @Test(arguments: ["0", "1", "2", "3", "4", "5"], [true, false])
  func `json equals the server's response`(userID: String, withLikes: Bool) async throws {
    let server = try await BFFServer.shared()
    let options = ["--json", "--user", userID] + (withLikes ? [] : ["--no-likes"])
    let result = try await Moments.run(options + ["--endpoint", server.graphqlURL.absoluteString])
    result.expectSuccess()
    let expected = try await timeline(server, userID: userID, withLikes: withLikes)
    #expect(try JSONValue(result.output).canonical() == expected.canonical())
  }

  @Test func `the endpoint may come from the environment`() async throws {
    let server = try await BFFServer.shared()
    let result = try await Moments.run([], environment: ["MOMENTS_ENDPOINT": server.graphqlURL.absoluteString])
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
    #expect(result.outputText.contains(" 60 moments\n"))
    #expect(result.outputText.contains(#"multi\nline"#))
    #expect(result.outputText.contains(#"\u{2028}"#))
  }

  @Test func `a like is seen in the next timeline, and so is taking it back`() async throws {
    let server = try await BFFServer.start()
    for (command, heart) in [("like", "♥"), ("unlike", "♡")] {
      let update = try await Moments.run(arguments(server, command, "m0-1"))
      update.expectSuccess()
      #expect(update.outputText.contains("\n\(heart) "))
      let json = try await Moments.run(arguments(server, command, "m0-1", "--json"))
      let after = try await Moments.run(arguments(server, "timeline", "--json"))
      #expect(json.output == after.output)
      let shown = try await Moments.run(arguments(server, "timeline"))
      let lines = shown.outputText.split(separator: "\n")
      #expect(lines.contains { $0.hasPrefix(heart) && $0.hasSuffix(" m0-1") })
      #expect(try await JSONValue(after.output).canonical() == timeline(server, userID: "0").canonical())
    }
  }

  @Test func `one may like on another's timeline`() async throws {
    let server = try await BFFServer.start()
    let result = try await Moments.run(arguments(server, "like", "m1-0", "--user", "5", "--json"))
    result.expectSuccess()
    #expect(try await JSONValue(result.output).canonical() == timeline(server, userID: "1").canonical())
  }

  #if URLSession
    @Test func `URLSession moves the same bytes, and its failures end the command in the same ways`() async throws {
      let server = try await BFFServer.start()
      let foundation = ["--transport", "urlsession"]
      try await Moments.run(arguments(server, "like", "m0-1") + foundation).expectSuccess()
      let shown = try await Moments.run(arguments(server, "--json") + foundation)
      shown.expectSuccess()
      #expect(try await JSONValue(shown.output).canonical() == timeline(server, userID: "0").canonical())
      let slow = arguments(server, "--header", "X-Latency-Ms: 10000", "--timeout", "0.2")
      try await Moments.run(slow + foundation).expectFailure(69, "timed out")
      let nowhere = try RefusingPort()
      try await Moments.run(["--endpoint", "http://127.0.0.1:\(nowhere.port)/"] + foundation)
        .expectFailure(69, "cannot connect")
      // Sockets ask for gzip.
      let odd = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.plain) })
      try await Moments.run(["--endpoint", odd.url.absoluteString] + foundation).expectSuccess()
      #expect(odd.requests.first?["Accept-Encoding"] == "identity")
    }
  #endif

  @Test func `an unknown user, moment or path ends with 65`() async throws {
    let server = try await BFFServer.shared()
    try await Moments.run(arguments(server, "--user", "404")).expectFailure(65, "GraphQL", saying: "'404'")
    try await Moments.run(arguments(server, "like", "/?&# 赞")).expectFailure(65, "GraphQL", saying: "'/?&# 赞'")
    let nowhere = server.url.appendingPathComponent("nowhere").absoluteString
    try await Moments.run(["--endpoint", nowhere]).expectFailure(65, "HTTP status", saying: "404")
  }

  @Test(arguments: ["graphql", "http"], [nil, "expired-token", "canary-token-1234"])
  func `a command without a valid token ends with 77, and shows no token`(mode: String, token: String?) async throws {
    let server = try await BFFServer.shared()
    let result = try await Moments.run(
      arguments(server, "--header", "X-Auth-Mode: \(mode)", "--json"), environment: ["MOMENTS_TOKEN": token])
    result.expectFailure(77, "GraphQL")
    #expect(!result.errorText.contains("canary"))
  }

  @Test(arguments: ["graphql", "http"])
  func `the token of the environment lets in, and no log shows it`(mode: String) async throws {
    let server = try await BFFServer.shared()
    let result = try await Moments.run(
      arguments(server, "--header", "X-Auth-Mode: \(mode)", "--verbose"), environment: ["MOMENTS_TOKEN": "valid-token"])
    #expect(result.exitCode == 0)
    #expect(result.outputText.hasPrefix("Lin Wei "))
    #expect(result.errorText.contains("getMomentsDetailsByUserID"))
    #expect(result.errorText.contains("POST http://127.0.0.1:\(server.port)/graphql"))
    #expect(!result.errorText.contains("valid-token"))
  }

  @Test func `a timeout ends with 69, a longer one does not`() async throws {
    let server = try await BFFServer.shared()
    let slow = arguments(server, "--header", "X-Latency-Ms: 400", "--json")
    let start = ContinuousClock.now
    try await Moments.run(slow + ["--timeout", "0.2"]).expectFailure(69, "timed out")
    #expect(ContinuousClock.now - start < .seconds(5))
    try await Moments.run(slow + ["--timeout=30"]).expectSuccess()
  }
}
