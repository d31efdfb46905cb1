import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import Streams
import Testing

@Suite struct CassetteFileTests {
  private let folder: CassetteFolder

  init() throws { folder = try CassetteFolder() }

  private func refusal(_ text: String) throws -> CassetteError? {
    try folder.write(Data(text.utf8))
    do throws(CassetteError) {
      _ = try Cassette(contentsOf: folder.file)
      return nil
    } catch {
      return error
    }
  }

  private func exchange(_ members: String) -> String {
    #"{"cassette": 1, "exchanges": [{"request": {"method": "GET", "path": "/"}, \#(members)}]}"#
  }

  @Test func `a body that is not text is a file beside the cassette, named by its hash`() async throws {
    let image = Data([0x89, 0x50, 0x4E, 0x47, 0xFF, 0])
    for _ in 0..<2 {
      try await folder.record(
        .get("https://h.example/a.png"), .get("https://h.example/b.png"),
        response: .response(headers: ["Content-Type": "image/png"], body: image))
    }
    let hash = "854e4b5f04c08dd7a8df75e0c0c9ce444f353bf1385a8a7ddbc9c73c4181ce0b"
    #expect(folder.names == ["run.bodies/\(hash).png", "run.json"])
    #expect(try Cassette(contentsOf: folder.file).exchanges.map(\.body) == [image, image])
    #expect(try !folder.text().contains("base64"))
  }

  @Test func `a large body is a file that people can read, and is replayed`() async throws {
    let large = #"{"text":"\#(String(repeating: "a", count: 70_000))","n":1.50}"#
    try await folder.record(.get("https://h.example/"), response: .json(large))
    let file = try #require(folder.names.first { $0.hasSuffix(".json") && $0.hasPrefix("run.bodies/") })
    #expect(try folder.text(of: file).hasPrefix("{\n  \"text\": \"aaa"))
    #expect(try Cassette(contentsOf: folder.file).exchanges.map(\.body) == [Data(large.utf8)])
  }

  @Test func `bodies of an earlier recording are removed with the last exchange that used them`() async throws {
    try await folder.record(.get("https://h.example/"), response: .response(body: Data([0xFF, 1])))
    #expect(folder.names.count == 2)
    try await folder.record(.get("https://h.example/"), response: .response(body: Data([0xFF, 2])))
    #expect(folder.names.count == 2)
    try await folder.record(.get("https://h.example/"), response: .json("{}"))
    #expect(folder.names == ["run.json"])
  }

  @Test func `a body that was changed is refused, and one that is missing`() async throws {
    try await folder.record(.get("https://h.example/"), response: .response(body: Data([0xFF, 1])))
    let body = try #require(folder.names.first { $0 != "run.json" })
    try folder.write(Data([0xFF, 2]), to: body)
    #expect(throws: CassetteError.self) { try Cassette(contentsOf: folder.file) }
    let text = try folder.text()
    let missing = text.replacing(body.dropFirst("run.bodies/".count).prefix(4), with: "0000")
    #expect(try refusal(missing)?.kind == .cannotRead)
  }

  @Test func `a cassette of a later version is refused by its version, whatever is in it`() throws {
    let error = try refusal(#"{"cassette": 2, "tapes": []}"#)
    #expect(error?.kind == .newerFormat)
    #expect(error?.message.contains("version 2") == true)
  }

  @Test(arguments: [
    ("", ""), ("[]", ""), ("{}", "cassette"), (#"{"cassette": 0}"#, "exchanges"), (#"{"cassette": "1"}"#, "cassette"),
    (#"{"cassette": 1}"#, "exchanges"), (#"{"cassette": 1, "exchanges": {}}"#, "exchanges"),
    (#"{"cassette": 1, "exchanges": [{}]}"#, "exchanges[0].request"),
    (#"{"cassette": 1, "exchanges": [], "x": 1}"#, "x"),
    (#"{"cassette": 1, "exchanges": [{"request": {"method": "GET"}}]}"#, "exchanges[0].request.path"),
  ]) func `a damaged cassette is refused with the place`(text: String, place: String) throws {
    let error = try refusal(text)
    #expect(error?.kind == .damaged)
    #expect(error?.place == place)
  }

  @Test(arguments: [
    (#""response": {"status": 99}"#, "response.status"), (#""response": {"headers": []}"#, "response.status"),
    (#""response": {"status": 200, "headers": ["a b: c"]}"#, "response.headers[0]"),
    (#""response": {"status": 200, "headers": ["a: \u0000"]}"#, "response.headers[0]"),
    (#""response": {"status": 200, "headers": ["Server: a\r\nX: y"]}"#, "response.headers[0]"),
    (#""response": {"status": 200, "headers": ["a"]}"#, "response.headers[0]"),
    (#""response": {"status": 200, "headers": {}}"#, "response.headers"),
    (#""response": {"status": 200, "body": {}}"#, "response.body"),
    (#""response": {"status": 200, "body": {"json": 1, "text": ""}}"#, "response.body.text"),
    (#""response": {"status": 200, "body": {"file": "../../etc/passwd"}}"#, "response.body.file"),
    (#""response": {"status": 200, "body": {"xml": ""}}"#, "response.body.xml"),
    (#""failure": {"kind": "timed out", "message": "m", "reached": "perhaps"}"#, "failure.reached"),
    (
      #""failure": {"kind": "timed out", "message": "m", "reached": "maybe", "retryAfter": 1e300}"#,
      "failure.retryAfter"
    ),
    (#""isOpen": false"#, ""),
  ]) func `a damaged exchange is refused with the place`(members: String, place: String) throws {
    let error = try refusal(exchange(members))
    #expect(error?.kind == .damaged)
    #expect(error?.place == (place.isEmpty ? "exchanges[0]" : "exchanges[0].\(place)"))
  }

  @Test func `any cut of a cassette is refused, and never a trap`() async throws {
    try await folder.record(
      .post(#"{"query": "{\n  a\n}", "variables": {}}"#), response: .json(#"{"data": {"a": [1, "b"]}}"#))
    let bytes = try Data(contentsOf: folder.file)
    for count in 0..<bytes.count - 2 {
      #expect(try refusal(String(decoding: bytes.prefix(count), as: UTF8.self))?.kind == .damaged, "\(count)")
    }
  }

  @Test func `JSON that nests too deep for a cassette is kept as text`() async throws {
    let deep = String(repeating: "[", count: 120) + String(repeating: "]", count: 120)
    try await folder.record(.post(deep), response: .json(deep))
    let exchange = try #require(try Cassette(contentsOf: folder.file).exchanges.first)
    #expect(exchange.body == Data(deep.utf8))
    #expect(exchange.requestBody == Data(deep.utf8))
  }

  @Test func `numbers keep their digits, and members their order`() async throws {
    let json = #"{"z":1.10,"a":123456789012345678901234567890,"a":-0e1,"empty":{},"none":[]}"#
    try await folder.record(.get("https://h.example/"), response: .json(json))
    #expect(try Cassette(contentsOf: folder.file).exchanges.map(\.body) == [Data(json.utf8)])
  }

  @Test func `a response over the limit is passed on, and not recorded in silence`() async throws {
    let scripted = ScriptedTransport(always: .response(body: Data("12345".utf8)).inPieces(of: 2))
    let recorder = RecordingTransport(scripted, to: folder.file, bodyLimit: 4)
    let request = try HTTPRequest.get("https://h.example/")
    #expect(try await recorder.send(request).collect(upTo: 9).value.body == Data("12345".utf8))
    #expect(throws: CassetteError.self) { try recorder.finish() }
    #expect(folder.names == [])
  }

  @Test func `a cassette that cannot be written is an error`() async throws {
    let recorder = RecordingTransport(ScriptedTransport(), to: folder.file.appending(path: "none/run.json"))
    let error = #expect(throws: CassetteError.self) { try recorder.finish() }
    #expect(error?.kind == .cannotWrite)
  }
}
