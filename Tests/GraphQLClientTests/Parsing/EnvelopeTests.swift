import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct EnvelopeTests {
  private enum CodeMsgData: EnvelopeKeys {
    static let code = "code"
    static let message = "msg"
    static let content = "data"
  }

  private enum EMD: EnvelopeKeys {
    static let code = "e"
    static let message = "m"
    static let content = "d"
    static func isSuccess(_ code: String) -> Bool { ["OK", "200", "true"].contains(code) }
  }

  private struct Get<Keys: EnvelopeKeys, Content: Decodable & Sendable>: APISession {
    typealias ResponseType = Content
    var responseParser: ResponseParser<Content> { .envelope(Keys.self) }
  }

  private func get<Keys: EnvelopeKeys, Content: Decodable & Sendable>(
    _ content: Content.Type, _ keys: Keys.Type, _ answer: ScriptedResponse
  ) throws -> Observable<Content> {
    Get<Keys, Content>().get(on: try client(ScriptedTransport(always: answer)))
  }

  @Test(arguments: [
    #"{"code": 0, "msg": "ok", "data": {"id": 7, "name": "Wei"}}"#,
    #"{"code": "0", "data": {"id": 7, "name": "Wei"}, "more": [1]}"#,
    #"{"code": 0, "msg": null, "data": {"id": 7, "name": "Wei"}}"#,
    #"{"code": 0.0, "msg": "", "data": {"id": 7, "name": "Wei"}}"#,
  ])
  func `code, msg and data: code 0 gives the content`(json: String) async throws {
    #expect(try await get(User.self, CodeMsgData.self, .json(json)).value == User())
  }

  @Test(.timeLimit(.minutes(1))) func `a code that would take long to be compared is an error`() async throws {
    let code = String(repeating: "\u{301}\u{323}", count: 100_000)
    let body = #"{"e":"\#(code)","m":"","d":[1]}"#
    for decoder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
      var client = try client(ScriptedTransport(always: .json(body)))
      client.decoder = decoder
      #expect(await Get<EMD, [Int]>().get(on: client).failure?.kind == .undecodable)
    }
  }

  @Test(arguments: [#"{"e": "OK", "m": "", "d": [1, 2]}"#, #"{"e": 200, "d": [1, 2]}"#, #"{"e": true, "d": [1, 2]}"#])
  func `e, m and d: a success that the keys define gives the content`(json: String) async throws {
    #expect(try await get([Int].self, EMD.self, .json(json)).value == [1, 2])
  }

  @Test(arguments: [
    #"{"code": 0, "msg": "ok", "data": [1, 2]}"#, #"{"data": [1, 2], "msg": null, "more": {}, "code": 0.0}"#,
    #"{"data": ["x"], "code": 7, "msg": "no"}"#, #"{"code": 0, "data": [1, "x"]}"#, #"{"data": null, "code": "0"}"#,
    #"{"code": 0}"#, #"{"data": []}"#, #"{"code": 1.5, "data": []}"#, #"{"code": false}"#,
    #"{"code": true, "data": []}"#, #"{"code": 0, "msg": 7, "data": []}"#, "[]", "",
  ])
  func `an envelope is read the same straight from the bytes and by Foundation, in any order`(json: String) async throws
  {
    func outcome(_ decoder: any BodyDecoder) async throws -> [String] {
      var client = try client(ScriptedTransport(always: .json(json)))
      client.decoder = decoder
      do {
        return try await Get<CodeMsgData, [Int]>().get(on: client).value.map { "\($0)" }
      } catch let error as RequestError {
        let failure = error.cause as? EnvelopeFailure
        return ["\(error.kind)", failure?.code ?? "", failure?.message ?? ""]
      }
    }
    #expect(try await outcome(JSONCoder()) == outcome(FoundationJSON()))
  }

  private enum Snake: EnvelopeKeys {
    static let code = "error_code"
    static let message = "error_msg"
    static let content = "the_data"
  }

  @Test func `a client that converts snake_case finds the members of an envelope`() async throws {
    struct Named: Decodable, Equatable { let userName: String }
    for decoder in [JSONCoder(keys: .snakeCase), FoundationJSON(keys: .snakeCase)] as [any BodyDecoder] {
      func get<Content: Decodable & Sendable>(_ content: Content.Type, _ json: String) throws -> Observable<Content> {
        var client = try client(ScriptedTransport(always: .json(json)))
        client.decoder = decoder
        return Get<Snake, Content>().get(on: client)
      }
      let json = #"{"error_code": 0, "error_msg": "ok", "the_data": {"user_name": "Wei"}}"#
      #expect(try await get(Named.self, json).value == Named(userName: "Wei"))
      #expect(try await get(Named?.self, #"{"error_code": 0}"#).value == nil)
      let error = try await get([Int].self, #"{"error_code": 7, "error_msg": "no"}"#).failure
      #expect(error?.cause as? EnvelopeFailure == EnvelopeFailure(code: "7", message: "no"))
    }
  }

  @Test(arguments: [
    (#"{"code": 1001, "msg": "sign in again", "data": null}"#, "1001", "sign in again"),
    (#"{"code": -1, "msg": "no", "data": {"id": "odd"}}"#, "-1", "no"), (#"{"code": "E7", "msg": "no"}"#, "E7", "no"),
  ])
  func `a failing code is an error with the envelope's message`(json: String, code: String, message: String)
    async throws
  {
    for status in [200, 400, 401, 500] {
      let error = try await get(User.self, CodeMsgData.self, .json(json, status: status)).failure
      #expect(error?.kind == .rejected)
      #expect(error?.message == message)
      #expect(error?.status == status)
      #expect(error?.cause as? EnvelopeFailure == EnvelopeFailure(code: code, message: message))
    }
  }

  @Test func `a failing code without a message is named in the error`() async throws {
    let error = try await get(User.self, CodeMsgData.self, .json(#"{"code": 9}"#)).failure
    #expect(error?.message.contains("9") == true)
  }

  @Test func `S5: an envelope's message is sanitized and bounded`() async throws {
    let long = String(repeating: "x", count: 100_000)
    let json = #"{"code": "\#(long)", "msg": "a\u001b[2J\nb\#(long)"}"#
    let error = try await get(User.self, CodeMsgData.self, .json(json)).failure
    #expect(error?.message.hasPrefix(#"a\u{1B}[2J\nb"#) == true)
    #expect(error.map { everythingShown(of: $0).utf8.count < 10_000 } == true)
  }

  @Test func `a success without content is none where there may be none`() async throws {
    for json in [#"{"code": 0, "msg": "ok", "data": null}"#, #"{"code": 0, "msg": "ok"}"#] {
      #expect(try await get(User?.self, CodeMsgData.self, .json(json)).value == nil)
      #expect(try await get(NoContent.self, CodeMsgData.self, .json(json)).value == NoContent())
      let error = try await get(User.self, CodeMsgData.self, .json(json)).failure
      #expect(error?.kind == .undecodable)
      #expect(error?.message.contains("data") == true)
    }
  }

  @Test(arguments: [
    ("[]", ""), ("{}", "code"), (#"{"code": []}"#, "code"), (#"{"code": null}"#, "code"),
    (#"{"code": 0, "data": {"id": "x", "name": ""}}"#, "data.id"), (#"{"code": 0, "msg": 7, "data": {}}"#, "msg"),
  ])
  func `G7: a body that is no envelope is an error that names the path`(json: String, path: String) async throws {
    let error = try await get(User.self, CodeMsgData.self, .json(json)).failure
    #expect(error?.kind == .undecodable)
    #expect((error?.cause as? DecodingFailure)?.path == path)
  }

  @Test func `a page of HTML is reported by its status, or by its type`() async throws {
    let html = { (status: Int) in
      ScriptedResponse.response(status: status, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))
    }
    let error = try await get(User.self, CodeMsgData.self, html(502)).failure
    #expect(error?.kind == .httpStatus)
    #expect(error?.status == 502)
    #expect(error?.excerpt == "<html>")
    #expect(try await get(User.self, CodeMsgData.self, html(200)).failure?.message.contains("text/html") == true)
  }

  @Test func `a successful code under a failing status is an HTTP error`() async throws {
    let json = #"{"code": 0, "data": {"id": 7, "name": "Wei"}}"#
    #expect(try await get(User.self, CodeMsgData.self, .json(json, status: 500)).failure?.kind == .httpStatus)
  }
}
