import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct FoundationJSONTests {
  private struct Event: Codable, Hashable, Sendable {
    var createdAt: Date
    var pageSize: Int
  }

  private func nested(_ depth: Int, open: String = "[", close: String = "]") -> Data {
    Data((String(repeating: open, count: depth) + String(repeating: close, count: depth)).utf8)
  }

  @Test func `T4: 128 levels are read`() throws {
    let value = try FoundationJSON().decode(JSONValue.self, from: nested(128))
    #expect(value != .null)
    let objects = Data((String(repeating: #"{"a":"#, count: 127) + "{}" + String(repeating: "}", count: 127)).utf8)
    #expect(throws: Never.self) { try FoundationJSON().decode(JSONValue.self, from: objects) }
  }

  @Test func `inside data the first of equal keys counts, and with a JSONCoder the last`() async throws {
    let body = Data(#"{"data": {"thing": {"name": "a"}}, "data": {"thing": {"name": "b", "name": "c"}}}"#.utf8)
    var client = try client(ScriptedTransport(always: .response(body: body)))
    #expect(try await GetThing().data(on: client).value.thing?.name == "c")
    client.decoder = FoundationJSON()
    #expect(try await GetThing().data(on: client).value.thing?.name == "b")
  }

  @Test func `strategies of one's own are taken`() throws {
    let json = FoundationJSON(
      decoder: {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
      },
      encoder: {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        return encoder
      })
    let date = Date(timeIntervalSince1970: 1_605_521_360)
    #expect(try json.encode([date]) == Data("[1605521360]".utf8))
    #expect(try json.decode([Date].self, from: Data("[1605521360]".utf8)) == [date])
  }

  @Test(arguments: [129, 512, 513, 100_000])
  func `T4: deeper nesting is an error`(depth: Int) {
    #expect(throws: DecodingError.self) { try FoundationJSON().decode(JSONValue.self, from: nested(depth)) }
    #expect(throws: DecodingError.self) { try FoundationJSON().decode(Int.self, from: nested(depth)) }
  }

  @Test func `T4: 100,000 brackets without an end crash nothing`() async throws {
    for text in ["[", #"{"a":"#, #"[{"a":"#, "[\"\\\"\",", "]"] {
      let body = Data(String(repeating: text, count: 100_000).utf8)
      #expect(throws: DecodingError.self) { try FoundationJSON().decode(JSONValue.self, from: body) }
      let answer = ScriptedResponse.response(body: body)
      let error = await GetUser().get(on: try client(ScriptedTransport(always: answer))).failure
      #expect(error?.kind == .undecodable)
    }
  }

  @Test func `T4: brackets in texts do not count`() throws {
    let texts = [String(repeating: "[{", count: 500), "\\\"[", "]\"}" + String(repeating: "[", count: 500), "\\"]
    let json = try JSONEncoder().encode(texts)
    #expect(try FoundationJSON().decode([String].self, from: json) == texts)
  }

  @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian, .utf16])
  func `T4: a body that is not UTF-8 is an error, and no way round the depth`(encoding: String.Encoding) throws {
    let deep = #"["\"","# + String(repeating: "[", count: 400) + String(repeating: "]", count: 400) + "]"
    for text in ["{}", deep] {
      let body = try #require(text.data(using: encoding))
      let error = #expect(throws: DecodingError.self) { try FoundationJSON().decode(JSONValue.self, from: body) }
      #expect(error.map { "\($0)".contains("UTF-8") } == true)
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: [#"{"KEY":1,"aKEY":2}"#, #"[{"a":"x","KEY" :[]}]"#, #"{"KEY\u0301":1}"#])
  func `a key that would take long to be compared is an error`(text: String) throws {
    let key = String(repeating: "\u{301}\u{323}", count: 100_000)
    let body = Data(text.replacing("KEY", with: key).utf8)
    let error = #expect(throws: DecodingError.self) { try FoundationJSON().decode(JSONValue.self, from: body) }
    #expect(error.map { "\($0)".contains("at most 30 combining characters in a row") } == true)
    let harmless = Data(#"{"a\u0301":"\#(key)","b":{"c":1}}"#.utf8)
    #expect(try FoundationJSON().decode(JSONValue.self, from: harmless)["b"]?["c"] == 1)
  }

  @Test func `a byte order mark of UTF-8 is passed over`() throws {
    #expect(try FoundationJSON().decode([Int].self, from: Data([0xEF, 0xBB, 0xBF] + "[1]".utf8)) == [1])
  }

  @Test(arguments: ["", " ", "{", "{\"a\"}", "[1 2]", "nul", "[1]x", "'a'", "<html>", "\u{0}", "NaN", "[01]"])
  func `a body that is no JSON is an error`(text: String) {
    #expect(throws: DecodingError.self) { try FoundationJSON().decode(JSONValue.self, from: Data(text.utf8)) }
  }

  @Test func `keys are as written, or snake case`() throws {
    let event = Event(createdAt: Date(timeIntervalSince1970: 0.5), pageSize: 3)
    let asWritten = #"{"createdAt":"1970-01-01T00:00:00.500000Z","pageSize":3}"#
    let snakeCase = #"{"created_at":"1970-01-01T00:00:00.500000Z","page_size":3}"#
    #expect(try FoundationJSON().encode(event) == Data(asWritten.utf8))
    #expect(try FoundationJSON(keys: .snakeCase).encode(event) == Data(snakeCase.utf8))
    #expect(try FoundationJSON().decode(Event.self, from: Data(asWritten.utf8)) == event)
    #expect(try FoundationJSON(keys: .snakeCase).decode(Event.self, from: Data(snakeCase.utf8)) == event)
  }

  @Test(arguments: ["\"2026-01-31\"", "1769860800", "null", "\"\"", "{}"])
  func `G7: a text that is no date is an error that names the path`(date: String) async throws {
    struct GetEvent: APISession { typealias ResponseType = [Event] }
    let transport = ScriptedTransport(always: .json("[{\"createdAt\": \(date), \"pageSize\": 1}]"))
    let error = await GetEvent().get(on: try client(transport)).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.message.contains("[0].createdAt") == true)
  }

  @Test func `a date that cannot be written is an invalid request`() async throws {
    let event = Event(createdAt: .distantFuture + 1e12, pageSize: 1)
    let transport = ScriptedTransport(always: .json("{}"))
    let error = await Send(parameters: event).post(on: try client(transport)).failure
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("createdAt") == true)
  }

  @Test func `slashes are not escaped, and keys are sorted`() throws {
    #expect(try FoundationJSON().encode(["b": "a/b", "a": "早"]) == Data(#"{"a":"早","b":"a/b"}"#.utf8))
  }
}
