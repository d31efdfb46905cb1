import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct ResponseParserTests {
  private static let user = Data(#"{"id": 7, "name": "Wei"}"#.utf8)

  private func headers(_ type: String?) throws -> HTTPHeaders {
    var headers = HTTPHeaders()
    if let type { try headers.set("Content-Type", to: type) }
    return headers
  }

  private func answer(_ body: Data, type: String?, status: Int = 200) throws -> Observable<User> {
    let answer = ScriptedResponse.response(status: status, headers: try headers(type), body: body)
    return GetUser().get(on: try client(ScriptedTransport(always: answer)))
  }

  @Test(arguments: [
    nil, "application/json", "APPLICATION/JSON; charset=UTF-8", "text/json", "application/problem+json", "", ";",
  ])
  func `JSON is read under its types, and where none is given`(type: String?) async throws {
    #expect(try await answer(Self.user, type: type).value == User())
  }

  @Test(arguments: [
    "text/html", "text/plain", "application/octet-stream", "application/jsonp", "application/xml", "json",
  ])
  func `T8: another type with 200 is an error that names it`(type: String) async throws {
    let error = try await answer(Self.user, type: type).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.message.contains(type) == true)
    #expect(error?.status == 200)
    #expect(error?.excerpt?.hasPrefix("{") == true)
  }

  @Test(arguments: [200, 201, 204, 299])
  func `T8: an empty body where JSON is expected is an error`(status: Int) async throws {
    let error = try await answer(Data(), type: nil, status: status).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.status == status)
  }

  @Test(arguments: [100, 300, 304, 400, 401, 403, 404, 408, 418, 429, 500, 503, 599, 600, 999])
  func `any status but success is an error with status and excerpt`(status: Int) async throws {
    let error = try await answer(Data("why\n".utf8), type: "text/plain", status: status).failure
    #expect(error?.kind == .httpStatus)
    #expect(error?.status == status)
    #expect(error?.excerpt == #"why\n"#)
    #expect(error?.operationName == "GetUser")
    #expect(error?.message.contains("\(status)") == true)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `T2: a redirect is refused, and its target named`(status: Int) async throws {
    let answer = ScriptedResponse.response(status: status, headers: ["Location": "https://other.example/a?b=c"])
    let transport = ScriptedTransport(always: answer)
    let error = await GetUser().get(on: try client(transport)).failure
    #expect(error?.kind == .redirectRefused)
    #expect(error?.status == status)
    #expect(error?.message.contains("'https://other.example:443'") == true)
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [
    (#"{"id": "7", "name": ""}"#, "id"), (#"{"name": ""}"#, "id"), (#"{"id": null, "name": ""}"#, "id"),
    (#"{"id": [], "name": ""}"#, "id"), ("[]", ""), ("7", ""), ("nope", ""),
  ])
  func `G7: a value that does not fit is an error that names the path`(json: String, path: String) async throws {
    let error = try await answer(Data(json.utf8), type: nil).failure
    #expect(error?.kind == .undecodable)
    #expect((error?.cause as? DecodingFailure)?.path == path)
    #expect(error?.status == 200)
    #expect(error?.excerpt == json)
  }

  @Test(arguments: ["1.5", "1e300", "9223372036854775808", "-9223372036854775809"])
  func `G7: an overflow, or 1.5 for an Int, is an error that names the path`(number: String) async throws {
    let error = try await answer(Data(#"{"id": \#(number), "name": ""}"#.utf8), type: nil).failure
    #expect(error?.kind == .undecodable)
    #expect((error?.cause as? DecodingFailure)?.path == "id")
  }

  @Test func `paths and reasons with text from the response are sanitized and bounded`() async throws {
    struct Get: APISession { typealias ResponseType = [String: Int] }
    let key = "\u{1B}[2J\n" + String(repeating: "k", count: 100_000)
    let body = try JSONEncoder().encode([key: "x"])
    let error = await Get().get(on: try client(ScriptedTransport(always: .response(body: body)))).failure
    let failure = try #require(error?.cause as? DecodingFailure)
    #expect(failure.path.hasPrefix(#"\u{1B}[2J\nkkk"#))
    #expect(failure.description.utf8.count < 1100)
  }

  private struct Card: Decodable, Sendable {
    enum Role: String, Decodable, Sendable { case admin }
    struct Code: Decodable, Sendable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "What is \(text)?")
      }
    }
    var role: Role?
    var code: Code?
    var day: Date?
    var size: Int8?
    var home: [URL]?
  }

  @Test(arguments: [
    (#"{"role": "hunter2"}"#, "At role: "), (#"{"code": "hunter2"}"#, "At code: the value is refused"),
    (#"{"day": "hunter2"}"#, "At day: expected a date such as 2026-01-31T12:00:00.5+01:00"),
  ])
  func `S3: no message shows a value of the response`(json: String, message: String) async throws {
    struct Get: APISession { typealias ResponseType = Card }
    for decoder in [JSONCoder(), FoundationJSON()] as [any BodyDecoder] {
      var client = try client(ScriptedTransport(always: .json(json)))
      client.decoder = decoder
      let error = try #require(await Get().get(on: client).failure)
      #expect(error.kind == .undecodable)
      #expect(error.message.hasPrefix(message))
      #expect(!error.message.contains("hunter2"))
      #expect(!"\(error.cause as Any)".contains("hunter2"))
    }
  }

  @Test(arguments: [
    (#"{"size": 128}"#, "At size: expected a whole number that fits Int8"),
    (#"{"size": ""}"#, "At size: expected a whole number, found a string"),
    (#"{"home": [1]}"#, "At home[0]: expected a string, found a number"),
  ])
  func `a message says what was expected and what was found`(json: String, message: String) async throws {
    struct Get: APISession { typealias ResponseType = Card }
    let error = await Get().get(on: try client(ScriptedTransport(always: .json(json)))).failure
    #expect(error?.message == message)
  }

  @Test func `text is the body in UTF-8, whatever its type`() async throws {
    struct Get: APISession {
      typealias ResponseType = String
      let responseParser = ResponseParser<String>.text
    }
    let get = { (body: Data, status: Int) in
      Get().get(on: try client(ScriptedTransport(always: .response(status: status, body: body))))
    }
    #expect(try await get(Data("早安\r\n".utf8), 200).value == "早安\r\n")
    #expect(try await get(Data(), 204).value == "")
    #expect(try await get(Data([0x61, 0xFF]), 200).failure?.kind == .undecodable)
    #expect(try await get(Data("a".utf8), 500).failure?.kind == .httpStatus)
  }

  @Test func `a parser may read a failed response, and make it the error's cause`() async throws {
    struct Buy: APISession {
      typealias ResponseType = Card
      var responseParser: ResponseParser<Card> { .jsonOrProblem }
    }
    let problem = ScriptedResponse.response(
      status: 403, headers: ["Content-Type": "application/problem+json"],
      body: Data(#"{"title": "You have no credit.", "balance": 30}"#.utf8))
    let error = await Buy().post(on: try client(ScriptedTransport(always: problem))).failure
    #expect(error?.kind == .httpStatus)
    #expect(error?.message == "You have no credit.")
    #expect(error?.operationName == "Buy")
    #expect(error?.status == 403)
    #expect((error?.cause as? Problem)?.balance == 30)
    let other = ScriptedTransport(always: .response(status: 502))
    #expect(await Buy().post(on: try client(other)).failure?.status == 502)
  }

  @Test func `the raw response has any status`() async throws {
    let transport = ScriptedTransport(always: .response(status: 503, body: Data("x".utf8)))
    let response = try await Send(parameters: NoParameters()).get(on: client(transport)).value
    #expect(response == HTTPResponse(status: 503, body: Data("x".utf8)))
  }

  @Test func `a session without content needs success alone`() async throws {
    struct Delete: APISession { typealias ResponseType = NoContent }
    for body in ["", "{}", "<html>"] {
      let answer = ScriptedResponse.response(status: 204, body: Data(body.utf8))
      #expect(try await Delete().delete(on: client(ScriptedTransport(always: answer))).value == NoContent())
    }
    let failing = try client(ScriptedTransport(always: .response(status: 404)))
    #expect(await Delete().delete(on: failing).failure?.kind == .httpStatus)
  }

  @Test func `a closure that throws another error makes the response undecodable`() {
    let parser = ResponseParser<Int>(accept: "*/*") { _, _ in throw CancellationError() }
    let error = #expect(throws: RequestError.self) {
      try parser.parse(HTTPResponse(status: 200), by: FoundationJSON())
    }
    #expect(error?.kind == .undecodable)
    #expect(error?.status == 200)
  }
}

/// What a server tells of a failure (RFC 9457), with a member of its own.
private struct Problem: Decodable, Error {
  let title: String
  let balance: Int
}

extension ResponseParser where Output: Decodable {
  fileprivate static var jsonOrProblem: Self {
    ResponseParser(accept: "application/json, application/problem+json") { response, decoder in
      guard response.head.mediaType == "application/problem+json" else {
        return try ResponseParser.json.parse(response, by: decoder)
      }
      let problem = try decoder.decode(Problem.self, from: response.body)
      throw RequestError(.httpStatus, problem.title, status: response.head.status, cause: problem)
    }
  }
}
