import Foundation
import HTTPClientCore
import Networking
import StrictJSON
import TestSupport
import Testing

@Suite("the command with servers that are odd, yet right")
struct OddServerTests {
  /// Runs the command against a server that answers with these bytes, and expects that json shows the details.
  private func expectSameJSON(
    _ bytes: [UInt8], as details: String = TimelineJSON.details, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let server = try ScriptedServer([.readRequest, .send(bytes), .close])
    let result = try await Moments.run(["--json", "--endpoint", server.url.absoluteString])
    result.expectSuccess(sourceLocation: sourceLocation)
    guard result.exitCode == 0 else { return }
    let expected = try JSONValue([UInt8](details.utf8)).canonical()
    #expect(try JSONValue(result.output).canonical() == expected, sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    " \r\n\t{ \"data\" :\n{\t\"getMomentsDetailsByUserID\" :\r\n\(TimelineJSON.details) } }\r\n \t",
    #"{"errors": null, "data": {"getMomentsDetailsByUserID": \#(TimelineJSON.details)}, "extensions": null}"#,
    #"{"errors": [], "data": {"getMomentsDetailsByUserID": \#(TimelineJSON.details)}}"#,
    #"{"more": [1.5e3, {"a": null}], "data": {"b": "c", "getMomentsDetailsByUserID": \#(TimelineJSON.details)}}"#,
    #"{"extensions": {"cost": 7}, "data": {"getMomentsDetailsByUserID": \#(TimelineJSON.details)}}"#,
  ])
  func `white space, nulls and unknown members of the envelope change nothing`(body: String) async throws {
    try await expectSameJSON(RawResponse(body: body).bytes)
  }

  @Test func `unknown keys are passed over, and unknown enum values given back`() async throws {
    let with = """
      {"__typename":"MomentsDetails","userDetails":{"id":"0","name":"","avatar":"","backgroundImage":"","new":[1]},\
      "moments":[{"id":"m","userDetails":{"name":"n","avatar":"a"},"type":"VIDEO_4K","photos":[],"createdDate":"x",\
      "viewCount":7}]}
      """
    let without = """
      {"userDetails":{"id":"0","name":"","avatar":"","backgroundImage":""},\
      "moments":[{"id":"m","userDetails":{"name":"n","avatar":"a"},"type":"VIDEO_4K","photos":[],"createdDate":"x"}]}
      """
    try await expectSameJSON(RawResponse(body: TimelineJSON.answer(with)).bytes, as: without)
  }

  @Test func `the last of equal members counts`() async throws {
    let other = #"{"userDetails":{"id":"1","name":"","avatar":"","backgroundImage":""},"moments":[]}"#
    let field = #""getMomentsDetailsByUserID":"#
    for body in [
      #"{"data":{\#(field)\#(other)},"data":{\#(field)\#(TimelineJSON.details)}}"#,
      #"{"data":{\#(field)\#(other),\#(field)\#(TimelineJSON.details)}}"#,
    ] {
      try await expectSameJSON(RawResponse(body: body).bytes)
    }
  }

  @Test(arguments: [1, 2, 3, 5, 7])
  func `chunks may split a character`(size: Int) async throws {
    try await expectSameJSON(RawResponse(body: TimelineJSON.plain).chunked(size: size))
  }

  @Test func `pieces may split a character, and the head`() async throws {
    let bytes = RawResponse(body: TimelineJSON.plain).bytes
    try await expectSameJSON(bytes)
    let server = try ScriptedServer([.readRequest, .drip(bytes, gap: .microseconds(100)), .close])
    try await Moments.run(["--json", "--endpoint", server.url.absoluteString]).expectSuccess()
  }

  @Test(arguments: [
    "application/json; charset=utf-8", "application/graphql-response+json", "APPLICATION/JSON", nil,
  ])
  func `the content type may be written in several ways, or be missing`(type: String?) async throws {
    try await expectSameJSON(RawResponse(contentType: type, body: TimelineJSON.plain).bytes)
  }

  @Test func `a response may end with the connection, or have interim responses before it`() async throws {
    let response = RawResponse(body: TimelineJSON.plain)
    try await expectSameJSON(response.bytesUntilClose)
    try await expectSameJSON([UInt8]("HTTP/1.1 100 Continue\r\n\r\n".utf8) + response.bytes)
  }

  @Test func `text from the server drives nothing, whether for people or as json`() async throws {
    let evil = #"\u001b[2J\u009b31m\u202e\u2066\u0007\r\n\u0085\u2028\u200b\u007f"#
    let details = """
      {"userDetails":{"id":"\(evil)","name":"\(evil)","avatar":"\(evil)","backgroundImage":"\(evil)"},\
      "moments":[{"id":"\(evil)","userDetails":{"name":"\(evil)","avatar":"\(evil)"},"type":"\(evil)",\
      "title":"\(evil)","url":"\(evil)","photos":["\(evil)"],"createdDate":"\(evil)","isLiked":true,"likes":[]}]}
      """
    try await expectSameJSON(RawResponse(body: TimelineJSON.answer(details)).bytes, as: details)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.answer(details)) })
    for options in [["--json"], ["--verbose"], []] {
      let result = try await Moments.run(options + ["--endpoint", server.url.absoluteString])
      #expect(result.exitCode == 0)
      for text in [result.outputText, result.errorText] {
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
        #expect(!text.unicodeScalars.contains { ["\u{2028}", "\u{202E}", "\u{2066}", "\u{200B}"].contains($0) })
      }
    }
  }

  @Test(arguments: ["/?&#", "赞 👍", #"a"b\c"#, "%2F", "../x", "\u{1}", "{}", "m0-1\n"])
  func `any id arrives as it is, as a variable`(id: String) async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(body: #"{"data":null,"errors":[{"message":"no"}]}"#) })
    let endpoint = server.url.absoluteString
    try await Moments.run(["--user", id, "--endpoint", endpoint]).expectFailure(65, "GraphQL", saying: "no")
    try await Moments.run(["like", id, "--endpoint", endpoint]).expectFailure(65, "GraphQL", saying: "no")
    let bodies = try server.requests.map { try JSONValue($0.body) }
    #expect(bodies.map { $0["variables"]?["userID"] } == [.string(id), .string("0")])
    #expect(bodies.map { $0["variables"]?["momentID"] } == [nil, .string(id)])
    #expect(bodies.map { $0["variables"]?["isLiked"] } == [nil, .bool(true)])
    #expect(bodies.first?["query"] == .string(GetMomentsByUserIDSession.Session.query.text))
    #expect(bodies.last?["query"] == .string(UpdateMomentLikeSession.Session.query.text))
  }

  @Test func `given headers are sent, in the place of the client's own`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.plain) })
    let headers = ["X-One: 1", "x-two: a: b", "Accept: application/json", "User-Agent: mine", "X-Empty:"]
    try await Moments.run(
      ["--endpoint", server.url.absoluteString] + headers.flatMap { ["--header", $0] },
      environment: ["MOMENTS_TOKEN": "token-for-test"]
    ).expectSuccess()
    let request = try #require(server.requests.first)
    #expect(request["X-One"] == "1")
    #expect(request["X-Two"] == "a: b")
    #expect(request["Accept"] == "application/json")
    #expect(request["User-Agent"] == "mine")
    #expect(request["Authorization"] == "Bearer token-for-test")
    #expect(request.method == "POST")
    #expect(request.target == "/")
  }

  @Test func `a response to a like without the moment ends with 65`() async throws {
    let answer = #"{"data":{"updateMomentLike":\#(TimelineJSON.details)}}"#
    let server = try ScriptedServer(.answering { _ in RawResponse(body: answer) })
    let endpoint = server.url.absoluteString
    try await Moments.run(["like", "m1", "--endpoint", endpoint]).expectFailure(65, "not decodable", saying: "'m1'")
    try await Moments.run(["like", "m0", "--endpoint", endpoint]).expectSuccess()
  }
}
