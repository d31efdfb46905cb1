import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore

/// The standard's algorithm (WHATWG HTML, sections 9.2.5 and 9.2.6), word for word, over a whole stream.
private struct StandardEventStream {
  private(set) var events: [ServerSentEvent] = []
  private(set) var lastEventID = ""
  private var (data, type, id) = ("", "", "")
  private var hasID = false

  init(_ bytes: [UInt8]) {
    // "The UTF-8 decode algorithm strips one leading UTF-8 Byte Order Mark (BOM), if any."
    var rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    while let end = rest.firstIndex(where: { $0 == 10 || $0 == 13 }) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      let isPair = rest[end] == 13 && end + 1 < rest.endIndex && rest[end + 1] == 10
      rest = rest[(isPair ? end + 2 : end + 1)...]
      take(line)
    }
  }

  private mutating func take(_ line: String) {
    let scalars = Array(line.unicodeScalars)
    if scalars.isEmpty { return dispatch() }
    guard let colon = scalars.firstIndex(of: ":") else { return process(line, "") }
    if colon == 0 { return }
    var value = scalars[(colon + 1)...]
    if value.first == " " { value = value.dropFirst() }
    process(Self.text(scalars[..<colon]), Self.text(value))
  }

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  private mutating func process(_ field: String, _ value: String) {
    switch field {
    case "event": type = value
    case "data": data += value + "\n"
    case "id": if !value.unicodeScalars.contains("\0") { (id, hasID) = (value, true) }
    default: break
    }
  }

  private mutating func dispatch() {
    lastEventID = id
    defer { (data, type) = ("", "") }
    if data.isEmpty { return }
    data.unicodeScalars.removeLast()
    events.append(
      ServerSentEvent(type: type.isEmpty ? "message" : type, data: data, lastEventID: hasID ? lastEventID : nil))
  }
}

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
    _ = try parser.consume(Data("retry: 1500\nretry: 2s\nretry:\nretry: 99999999999999999999\n\n".utf8))
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
    #expect(events.count == 1)
    #expect(events.first?.data?.utf8.count == 21 * count - 1)
  }

  @Test func `a field whose name has very many combining marks takes time in proportion to its size`() throws {
    let name = String(repeating: "\u{301}\u{323}", count: 100_000)
    var parser = EventStreamParser(limit: 16 << 20)
    let start = clock()
    let events = try parser.consume(Data("\(name): 1\ndata: 2\n\n".utf8))
    // Swift takes 20 seconds to compare the name with another text.
    #expect(clock() - start < 3_000_000)
    #expect(events.map(\.data) == ["2"])
  }

  @Test func `T6: a type and an identifier that take long to compare are replaced by what does not`() throws {
    let marks = String(repeating: "\u{301}\u{323}", count: 100_000)
    var parser = EventStreamParser(limit: 16 << 20)
    let events = try parser.consume(Data("event: next\(marks)\nid: 1\(marks)\ndata: 2\n\n".utf8))
    let event = try #require(events.first)
    #expect(event.type.isName)
    #expect(event.lastEventID?.isName == true)
    #expect(event.type != "next")
  }

  @Test func `an event over the limit is an error, in one line and in many`() {
    for text in [String(repeating: "x", count: 101), String(repeating: "data: 12345678\n", count: 20)] {
      var parser = EventStreamParser(limit: 100)
      let error = #expect(throws: RequestError.self) { try parser.consume(Data(text.utf8)) }
      #expect(error?.kind == .tooLarge)
    }
  }

  @Test func `L2: an identifier counts from the blank line that ends its event`() throws {
    var parser = EventStreamParser()
    #expect(try parser.consume(Data("id: 1\ndata: a\n\nid: 2\ndata: {\"da".utf8)).map(\.lastEventID) == ["1"])
    // The second event may be cut off here.
    #expect(parser.lastEventID == "1")
    #expect(try parser.consume(Data("\n".utf8)).isEmpty)
    #expect(parser.lastEventID == "1")
    #expect(try parser.consume(Data("\n".utf8)).map(\.lastEventID) == ["2"])
    #expect(parser.lastEventID == "2")
  }

  @Test func `L2: an identifier without data counts, too, and one of an earlier stream is kept`() throws {
    var parser = EventStreamParser(after: "0")
    #expect(try parser.consume(Data(":\n\n".utf8)).isEmpty)
    #expect(parser.lastEventID == "0")
    #expect(try parser.consume(Data("id: 3\n\n".utf8)).isEmpty)
    #expect(parser.lastEventID == "3")
  }

  @Test func `L2: random streams, cut and split anywhere, give the events and identifiers of the standard's algorithm`()
    throws
  {
    let pieces = [
      "data", "id", "event", "retry", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "next", "1", "22",
      "\u{0}",
      "id: 7\n", "data: {}\n", "event: a\n", "\u{FEFF}", "é", "x",
    ]
    var random = SplitMix(seed: 26)
    for _ in 0..<TestScale.count(10_000, long: 300_000) {
      let text = (0..<Int.random(in: 0..<24, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
      let bytes = Array(text.joined().utf8)
      let stream = bytes[..<Int.random(in: 0...bytes.count, using: &random)]
      var parser = EventStreamParser()
      var events: [ServerSentEvent] = []
      var start = 0
      while start < stream.count {
        let end = min(start + Int.random(in: 1...8, using: &random), stream.count)
        events += try parser.consume(Data(stream[start..<end]))
        start = end
      }
      let standard = StandardEventStream(Array(stream))
      #expect(events.filter { $0.data != nil } == standard.events)
      #expect(
        parser.lastEventID ?? "" == standard.lastEventID, "\(String(decoding: stream, as: UTF8.self).debugDescription)")
    }
  }

  @Test(arguments: [1, 3, 10_000])
  func `L2: events before one over the limit are given, however the bytes are split`(size: Int) {
    let bytes = Data(("data: a\n\ndata: b\n\ndata: " + String(repeating: "x", count: 200)).utf8)
    var parser = EventStreamParser(limit: 100)
    var events: [ServerSentEvent] = []
    let error = #expect(throws: RequestError.self) {
      for start in stride(from: 0, to: bytes.count, by: size) {
        events += try parser.consume(bytes[start..<min(start + size, bytes.count)])
      }
      if let failure = parser.failure { throw failure }
    }
    #expect(error?.kind == .tooLarge)
    #expect(events.map(\.data) == ["a", "b"])
    #expect(throws: RequestError.self) { try parser.consume(Data("\n\n".utf8)) }
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
      #expect(error?.kind == kind)
      #expect(error?.status == status)
    }
  }
}
