import Foundation
import HTTPTestSupport
import Streams
import Testing

@testable import HTTP

@Suite struct EventStreamTests {
  private typealias Event = ServerSentEvent

  /// The events of a stream that arrives in pieces of a size.
  private static func events(_ text: String, pieces size: Int) throws -> [ServerSentEvent] {
    var parser = EventStreamParser()
    let bytes = Data(text.utf8)
    return try stride(from: 0, to: bytes.count, by: size).flatMap { start in
      try parser.consume(bytes[start..<min(start + size, bytes.count)])
    }
  }

  @Test(arguments: [
    ("data: one\n\ndata: two\n\n", [Event(data: "one"), Event(data: "two")]),
    ("event: next\r\ndata: {\r\ndata:  }\r\n\r\n", [Event(type: "next", data: "{\n }")]),
    ("data: a\r\rdata: b\r\r", [Event(data: "a"), Event(data: "b")]),
    ("\u{FEFF}data: mark\n\n", [Event(data: "mark")]),
    (": comment\n\n:\ndata\n\ndata:\ndata\n\n", [Event(data: ""), Event(data: "\n")]),
    (
      "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
      [
        Event(data: "a", lastEventID: "7"), Event(data: "b", lastEventID: "7"), Event(data: "c", lastEventID: ""),
      ]
    ),
    ("id: a\u{0}b\ndata: x\n\n", [Event(data: "x")]),
    ("event: complete\n\n", [Event(type: "complete", data: nil)]),
    ("unknown: field\ndata: 朋友圈 🎉\n\ndata: cut off", [Event(data: "朋友圈 🎉")]),
  ])
  func `a stream gives the same events however it is split`(text: String, events: [ServerSentEvent]) throws {
    for size in 1...(text.utf8.count + 1) { #expect(try Self.events(text, pieces: size) == events) }
  }

  @Test func `the server's delay counts if it is a number`() throws {
    var parser = EventStreamParser()
    _ = try parser.consume(Data("retry: 1500\nretry: 2s\nretry:\n\n".utf8))
    #expect(parser.retryDelay == .milliseconds(1500))
  }

  @Test func `an event of very many lines takes time in proportion to its size`() throws {
    let count = 200_000
    let text = String(repeating: "data: 12345678901234567890\n", count: count) + "\n"
    var parser = EventStreamParser(limit: 16 << 20)
    let start = clock()
    let events = try parser.consume(Data(text.utf8))
    // To copy all for each line would be 400 GB. This is processor time in microseconds, so that other programs do not
    // count.
    #expect(clock() - start < 30_000_000)
    #expect(events.count == 1 && events.first?.data?.utf8.count == 21 * count - 1)
  }

  @Test func `an event over the limit is an error, in one line and in many`() {
    for text in [String(repeating: "x", count: 101), String(repeating: "data: 12345678\n", count: 20)] {
      var parser = EventStreamParser(limit: 100)
      let error = #expect(throws: RequestError.self) { try parser.consume(Data(text.utf8)) }
      #expect(error?.kind == .tooLarge)
    }
  }

  @Test func `a response gives its events, and one that is no event stream fails`() async throws {
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "text/event-stream; charset=utf-8"])
    let parts = Observable<HTTPResponsePart>.from([
      .head(head), .body(Data("data: a\n\nda".utf8)), .body(Data("ta: b\n\n".utf8)),
    ])
    #expect(try await parts.events().elements.map(\.data) == ["a", "b"])
    for (status, type, kind) in [
      (200, "application/json", RequestError.Kind.badResponse), (503, "text/event-stream", .httpStatus),
    ] {
      let head = HTTPResponseHead(
        status: status, headers: try HTTPHeaders([HTTPField(name: "Content-Type", value: type)]))
      let error = await Observable<HTTPResponsePart>.just(.head(head)).events().failure
      #expect(error?.kind == kind && error?.status == status)
    }
  }
}
