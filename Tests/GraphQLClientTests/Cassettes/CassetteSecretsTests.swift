import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import TestSupport
import Testing

/// S3: what is secret is in no cassette.
@Suite struct CassetteSecretsTests {
  private let folder: CassetteFolder

  init() throws { folder = try CassetteFolder() }

  private func refusal(of recording: () async throws -> Void) async -> CassetteError? {
    do {
      try await recording()
      return nil
    } catch {
      return error as? CassetteError
    }
  }

  @Test func `S3: headers, members, fields and parameters that are secret are left out of a cassette`() async throws {
    let headers: HTTPHeaders = ["Authorization": "Bearer CANARY-header", "X-Api-Key": "CANARY-key", "Accept": "a/b"]
    try await folder.record(
      .post(#"{"variables": {"pass_word": "CANARY-json", "n": 1, "pin": {"otp": 123456}}}"#, headers: headers),
      .post("grant_type=refresh&refresh_token=CANARY-form", type: "application/x-www-form-urlencoded"),
      .get("https://h.example/x?access_token=CANARY-query&page=2"),
      .get("https://h.example/x?variables=%7B%22password%22%3A%22CANARY-nested%22%7D"),
      response: .response(
        headers: [
          "Set-Cookie": "session=CANARY-cookie; HttpOnly", "Content-Type": "application/json",
          "Location": "https://h.example/?code=CANARY-code",
        ], body: Data(#"{"data": {"signIn": {"accessToken": "CANARY-token", "name": "HttpOnly"}}}"#.utf8)))
    let text = try folder.text()
    #expect(!text.contains("CANARY"))
    #expect(!text.contains("123456"))
    for shown in ["Authorization: <redacted>", "Accept: a/b", #""accessToken": "<redacted>""#, #""text": "2""#] {
      #expect(text.contains(shown), "\(shown)")
    }
  }

  @Test func `S3: secrets in the lines of an event stream are left out of a cassette`() async throws {
    let events = "event: next\ndata: {\"token\": \"CANARY-event\", \"n\": 1}\n\nevent: complete\ndata:\n\n"
    try await folder.record(
      .get("https://h.example/"),
      response: .response(headers: ["Content-Type": "text/event-stream"], body: Data(events.utf8)))
    let body = try Cassette(contentsOf: folder.file).exchanges.first?.body ?? Data()
    #expect(
      String(decoding: body, as: UTF8.self)
        == events.replacing(#"{"token": "CANARY-event", "n": 1}"#, with: #"{"token":"<redacted>","n":1}"#))
  }

  @Test(arguments: [
    (#"{"data": {"signIn": "CANARY-token"}}"#, "exchanges[0].response.body.json.data.signIn"),
    (#"{"a": ["x", {"CANARY-token": 1}]}"#, "a key of exchanges[0].response.body.json.a[1]"),
    (#"{"a": "\u0043ANARY-token"}"#, "exchanges[0].response.body.json.a"),
    (#"{"a": "x?t=CANARY%2dtoken"}"#, "exchanges[0].response.body.json.a"),
    ("<p>CANARY-token</p>", "exchanges[0].response.body.text"),
  ]) func `S3: a token that stands in a body is not recorded, and the error says where`(body: String, place: String)
    async throws
  {
    try folder.write(Data("before".utf8))
    let error = await refusal {
      try await folder.record(
        .post("{}", headers: ["Authorization": "Bearer CANARY-token"]),
        response: .response(body: Data(body.utf8)))
    }
    #expect(error?.kind == .holdsSecret)
    #expect(error?.place == place)
    #expect(error?.message.contains("the header 'Authorization'") == true)
    #expect(error.map { !everythingShown(of: $0).contains("CANARY") } == true)
    // The earlier cassette is as it was.
    #expect(try folder.text() == "before")
    #expect(folder.names == ["run.json"])
  }

  @Test func `S3: a secret in a body that is not text is not recorded`() async throws {
    let error = await refusal {
      try await folder.record(
        .post("{}", headers: ["X-Api-Key": "CANARY-key"]),
        response: .response(body: Data([0xFF, 0]) + Data("CANARY-key".utf8)))
    }
    #expect(error?.kind == .holdsSecret)
    #expect(error?.place.hasPrefix("run.bodies/") == true)
    #expect(folder.names == [])
  }

  @Test(arguments: [
    ("Basic \(Data("wei:CANARY-password".utf8).base64EncodedString())", [], "the header 'Authorization'"),
    ("", ["CANARY-password"], "one of the given values"),
  ]) func `S3: the password of basic authorization, and given values, are not recorded`(
    authorization: String, values: [String], origin: String
  ) async throws {
    var request = try HTTPRequest.post(#"{"note": "it is CANARY-password"}"#)
    if !authorization.isEmpty { try request.headers.set("Authorization", to: authorization) }
    let error = await refusal { [request] in
      try await folder.record(request, response: .response(), secrets: CassetteSecrets(values: values))
    }
    #expect(error?.place == "exchanges[0].request.body.json.note")
    #expect(error?.message.contains(origin) == true)
  }

  @Test func `S3: what a session declares secret is left out, and replayed with another secret`() async throws {
    struct SignIn: GraphQLSession {
      struct Variables: Encodable, Sendable { let code: String }
      struct ResponseData: Decodable, Sendable { let signIn: [String: String] }
      static let query: GraphQLDocument = "mutation signIn($code: String!) { signIn(code: $code) { value until kind } }"
      let variables: Variables
      var secrets: [String] { [variables.code] }
      var isResponseSecret: Bool { true }
    }
    let signIn = { @Sendable (code: String, transport: any HTTPTransport) async throws -> [String: String] in
      let client = try APIClient(baseURL: url("https://h.example/"), transport: transport)
      return try await SignIn(variables: .init(code: code)).data(on: client).value.signIn
    }
    let json = #"{"data": {"signIn": {"value": "CANARY-token", "until": "2026-01-31T12:00:00Z", "kind": "Bearer"}}}"#
    let recorder = RecordingTransport(ScriptedTransport(always: .json(json)), to: folder.file)
    #expect(try await signIn("CANARY-code", recorder)["value"] == "CANARY-token")
    try recorder.finish()
    #expect(try !folder.text().contains("CANARY"))
    let replaying = try ReplayingTransport(contentsOf: folder.file)
    let replayed = try await signIn("another", replaying)
    #expect(replayed == ["value": "<redacted>", "until": "2026-01-31T12:00:00Z", "kind": "Bearer"])
    #expect(replaying.failures == [])
  }

  @Test func `S3: the rules show no values when they are printed`() {
    let shown = everythingShown(of: CassetteSecrets(names: ["pin"], values: ["CANARY-password"]))
    #expect(shown.contains("pin"))
    #expect(!shown.contains("CANARY"))
  }

  @Test func `headers that are named are recorded, and searched for no more`() async throws {
    try await folder.record(
      .post("{}", headers: ["X-Tenant": "tenant-of-wei"]), response: .json(#"{"tenant": "tenant-of-wei"}"#),
      secrets: CassetteSecrets(shownHeaders: ["x-tenant"]))
    #expect(try folder.text().contains("X-Tenant: tenant-of-wei"))
  }

  @Test func `numbers under a secret name stay numbers for the decoder`() async throws {
    try await folder.record(.post("{}"), response: .json(#"{"otp": 123456, "secret": null, "jwt": true}"#))
    let body = try Cassette(contentsOf: folder.file).exchanges.first?.body
    #expect(body == Data(#"{"otp":0,"secret":null,"jwt":true}"#.utf8))
  }
}
