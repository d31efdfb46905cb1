import Foundation
import HTTP
import NetworkingTesting
import Streams
import Testing

@Suite struct RecordingTests {
  private let url = "https://h.example/x"

  private func request(_ body: String) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: url(self.url), headers: ["Authorization": "Bearer canary-token"], body: Data(body.utf8))
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test func `a recording is replayed from a file, which holds no secret header`() async throws {
    let live = ScriptedTransport(
      always: .response(headers: ["Content-Type": "a/b", "Set-Cookie": "canary-cookie"], body: Data([0xFF, 0])))
    let recorder = RecordingTransport(live)
    for body in ["a", "早"] { _ = try await recorder.send(request(body)).collect(upTo: 9).value }
    let file = try JSONEncoder().encode(recorder.exchanges)
    #expect(!String(decoding: file, as: UTF8.self).contains("canary"))

    let transport = try ScriptedTransport(replaying: JSONDecoder().decode([RecordedExchange].self, from: file))
    for body in ["早", "a"] {
      let response = try await transport.send(request(body)).collect(upTo: 9).value
      #expect(response.body == Data([0xFF, 0]) && response.head.headers["Content-Type"] == "a/b")
    }
    #expect(transport.failures.isEmpty)
    _ = await transport.send(try request("a")).collect(upTo: 9).failure
    #expect(transport.failures.count == 1)
  }

  @Test func `an exchange that failed is not kept`() async throws {
    let recorder = RecordingTransport(ScriptedTransport(always: .failure(RequestError(.connectionLost, "gone"))))
    #expect(await recorder.send(try request("a")).collect(upTo: 9).failure?.kind == .connectionLost)
    #expect(recorder.exchanges.isEmpty)
  }

  @Test func `any header that a server may send can be replayed`() throws {
    let headers = HTTPHeaders([HTTPField(received: "Server", value: "a\tb\u{85}c")])
    let exchange = try RecordedExchange(request("a"), HTTPResponse(status: 200, headers: headers))
    #expect(try exchange.response().head.headers["Server"] == "a\tb\u{85}c")
  }

  @Test(arguments: [("Server", "a\r\nX: y"), ("Server", "\0"), ("a b", "c"), ("", "c")])
  func `a record with what no server can send in a header is refused`(name: String, value: String) throws {
    let headers = HTTPHeaders([HTTPField(received: name, value: value)])
    let exchange = try RecordedExchange(request("a"), HTTPResponse(status: 200, headers: headers))
    #expect(throws: RequestError.self) { try exchange.response() }
  }

  @Test func `a response over the limit is passed on, and not recorded`() async throws {
    let live = ScriptedTransport()
    for body in ["12345", "123"] { live.expect(.any, .response(body: Data(body.utf8)).inPieces(of: 2)) }
    let recorder = RecordingTransport(live, bodyLimit: 3)
    #expect(try await recorder.send(request("a")).collect(upTo: 9).value.body == Data("12345".utf8))
    #expect(try await recorder.send(request("b")).collect(upTo: 9).value.body == Data("123".utf8))
    #expect(recorder.exchanges.map(\.body.data) == [Data("123".utf8)])
  }
}
