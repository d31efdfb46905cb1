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

  @Test func `what was recorded is replayed from a file, which holds no secret header`() async throws {
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
}
