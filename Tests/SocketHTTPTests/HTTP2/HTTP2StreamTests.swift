import Foundation
import HTTPClientCore
import Testing

@testable import SocketHTTP

/// RFC 9113, sections 5 and 8: requests and their responses.
@Suite struct HTTP2StreamTests {
  // MARK: - Requests

  /// Section 8.3.1, and 8.2.
  @Test func `the head of a request has the pseudo headers first, and names in lower case`() throws {
    let driver = HTTP2Driver()
    driver.open("GET", ["Accept": "application/json", "X-Token": "abc"])
    let frame = try #require(driver.takeFrames().first)
    #expect(frame.type == 1)
    #expect(frame.flags == 5)
    #expect(frame.stream == 1)
    #expect(
      try driver.fields(frame) == [
        [":method", "GET"], [":scheme", "https"], [":authority", "example.com"], [":path", "/graphql"],
        ["accept", "application/json"], ["x-token", "abc"],
      ])
  }

  /// Section 8.2.2.
  @Test func `fields about a connection of HTTP/1 are left out, and the host becomes the authority`() throws {
    let driver = HTTP2Driver()
    driver.open(
      "GET",
      [
        "Host": "other.example", "Connection": "close", "Keep-Alive": "1", "Proxy-Connection": "close",
        "Transfer-Encoding": "chunked", "Upgrade": "h2c", "HTTP2-Settings": "AA", "TE": "gzip", "Accept": "*/*",
      ])
    driver.open("GET", ["TE": "trailers"])
    let frames = driver.takeFrames()
    let fields = try frames.map(driver.fields)
    #expect(fields[0].dropFirst(2) == [[":authority", "other.example"], [":path", "/graphql"], ["accept", "*/*"]])
    #expect(fields[1].last == ["te", "trailers"])
  }

  @Test func `defaults and the size of the body are added`() throws {
    let url = try #require(URL(string: "http://example.com:81/a?b=c"))
    let request = try HTTPRequest(method: .post, url: url, headers: ["Accept": "a/b"], body: Data("{}".utf8))
    var head = HTTP2RequestHead(request, defaults: [("User-Agent", "sdk"), ("Accept", "*/*")])
    let driver = HTTP2Driver()
    _ = driver.machine.open(head, isEnd: false)
    head.contentLength = nil
    _ = driver.machine.open(head, isEnd: false)
    let frames = driver.takeFrames()
    #expect(
      try driver.fields(frames[0]) == [
        [":method", "POST"], [":scheme", "http"], [":authority", "example.com:81"], [":path", "/a?b=c"],
        ["accept", "a/b"], ["user-agent", "sdk"], ["content-length", "2"],
      ])
    #expect(try driver.fields(frames[1]).last == ["user-agent", "sdk"])
    #expect(frames.map(\.flags) == [4, 4])
  }

  /// RFC 7541, section 7.1.
  @Test func `a path is put into the table when it is sent again, and never if it has a query`() throws {
    func head(_ path: String) -> HTTP2RequestHead {
      var head = HTTP2RequestHead.sample()
      head.path = path
      return head
    }
    var encoder = RequestHeadEncoder()
    func block(_ path: String) -> [UInt8] {
      encoder.encode(head(path))
      return encoder.block
    }
    // What comes before it goes into the table.
    _ = block("/")
    #expect(block("/graphql")[3] == 0x04)
    #expect(block("/reset/0123456789")[3] == 0x04)
    #expect(block("/graphql")[3] == 0x44)
    #expect(block("/graphql").count == 4)
    #expect(block("/graphql?token=abc")[3] == 0x14)
    #expect(block("/graphql?token=abc")[3] == 0x14)
    #expect(block("/graphql").count == 4)
  }

  @Test func `a request that is cancelled before the system takes it is never sent`() throws {
    let driver = HTTP2Driver()
    driver.open()
    // The system takes no more than this for now.
    var bytes = driver.takeBytes(upTo: 5)
    driver.open("POST", isEnd: false)
    driver.machine.send(Data("a".utf8), on: 3, isEnd: true)
    driver.open("POST", isEnd: false)
    driver.machine.send(Data("b".utf8), on: 5, isEnd: true)
    #expect(driver.machine.progress(of: 3)?.hasLeft == false)
    driver.machine.cancel(3)
    #expect(driver.machine.openCount == 2)
    bytes += driver.takeBytes()
    let frames = HTTP2ClientFrame.take(from: &bytes)
    #expect(frames.map(\.stream) == [1, 5, 5])
    #expect(frames.map(\.type) == [1, 1, 0])
    #expect(try frames.prefix(2).map { try driver.fields($0)[0] } == [[":method", "GET"], [":method", "POST"]])
    #expect(driver.receive(HTTP2ServerFrame.head(5, isEnd: true)).count == 2)
  }

  /// RFC 8441, section 4.
  @Test func `a CONNECT may name a protocol`() throws {
    let target = try HTTPRequest(method: .get, url: #require(URL(string: "https://example.com/live"))).target
    let driver = HTTP2Driver(settings: [(8, 1)])
    #expect(driver.machine.peer.allowsConnectProtocol == true)
    let stream = driver.machine.open(HTTP2RequestHead(connecting: "websocket", to: target, headers: [:]), isEnd: false)
    let frame = try #require(driver.takeFrames().first)
    #expect(
      try driver.fields(frame) == [
        [":method", "CONNECT"], [":scheme", "https"], [":authority", "example.com"], [":path", "/live"],
        [":protocol", "websocket"],
      ])
    // Both sides then send DATA for as long as they want.
    #expect(stream == 1)
    #expect(driver.receive(HTTP2ServerFrame.head(1, 200) + HTTP2ServerFrame.data(1, "a")).count == 2)
    driver.machine.send(Data("b".utf8), on: 1, isEnd: false)
    #expect(driver.takeFrames() == [.data(1, [98])])
    driver.machine.send(Data(), on: 1, isEnd: true)
    #expect(driver.takeFrames() == [.data(1, [], isEnd: true)])
    #expect(driver.receive(HTTP2ServerFrame.data(1, "", isEnd: true)) == [.end(stream: 1, isClosed: true)])
  }

  @Test func `secrets and the values of queries are in no table, and what repeats takes a byte`() throws {
    let driver = HTTP2Driver()
    let headers: HTTPHeaders = [
      "Authorization": "Bearer 0123456789", "Cookie": "a=b; c=d", "X-Api-Key": "0123", "Accept": "application/json",
      "User-Agent": "sdk/1",
    ]
    for _ in 0..<3 { driver.open("POST", headers) }
    let frames = driver.takeFrames()
    let fields = try frames.map(driver.fields)
    #expect(fields == .init(repeating: fields[0], count: 3))
    // Never indexed, with the name of the static table: 23, 32.
    #expect(frames[2].payload.contains([0x1F, 0x08]))
    #expect(frames[2].payload.contains([0x1F, 0x11]))
    let secrets = 2 + 1 + 13 + 2 + 1 + 8 + 1 + 1 + 7 + 1 + 4
    #expect(frames[2].payload.count < 6 + secrets)
  }

  @Test func `a head that is larger than a frame is continued`() throws {
    let driver = HTTP2Driver()
    var headers: HTTPHeaders = [:]
    for index in 0..<40 { try headers.set("x-\(index)", to: String(repeating: "\u{7E}", count: 1000)) }
    driver.open("GET", headers)
    let frames = driver.takeFrames()
    #expect(frames.map(\.type) == [1, 9, 9])
    #expect(frames.map(\.flags) == [1, 0, 4])
    #expect(frames.map(\.payload.count).prefix(2) == [16_384, 16_384])
    let whole = HTTP2ClientFrame(type: 1, payload: frames.flatMap(\.payload))
    #expect(try driver.fields(whole).count == 44)
  }

  @Test func `the size of the server's table is obeyed`() throws {
    let driver = HTTP2Driver(settings: [(1, 0)])
    driver.open("GET", ["Accept": "a/b"])
    driver.open("GET", ["Accept": "a/b"])
    let frames = driver.takeFrames()
    #expect(frames[0].payload.first == 0x20)
    #expect(frames[1].payload.first != 0x20)
    #expect(frames[1].payload.count == frames[0].payload.count - 1)
  }

  /// Section 5.1.1.
  @Test func `the server cannot have seen a request of which nothing was taken`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.open()
    #expect(driver.machine.progress(of: 1)?.hasLeft == false)
    _ = driver.takeBytes(upTo: 1)
    #expect(driver.machine.progress(of: 1)?.hasLeft == true)
    #expect(driver.machine.progress(of: 3)?.hasLeft == false)
    _ = driver.takeBytes()
    #expect(driver.machine.progress(of: 3)?.hasLeft == true)
    #expect(driver.machine.progress(of: 5) == nil)
  }

  // MARK: - Responses

  @Test func `a response is its head, its body and its end`() {
    let driver = HTTP2Driver()
    driver.open()
    let events = driver.receive(
      HTTP2ServerFrame.head(1, 200, [("content-type", "a/b"), ("content-length", "5")]) + HTTP2ServerFrame.data(1, "he")
        + HTTP2ServerFrame.data(1, "llo", isEnd: true))
    #expect(
      events == [
        .head(stream: 1, HTTPResponseHead(status: 200, headers: ["content-type": "a/b", "content-length": "5"])),
        .data(stream: 1, Data("hello".utf8)), .end(stream: 1, isClosed: true),
      ])
    #expect(driver.machine.progress(of: 1) != nil)
    driver.machine.consumed(5, on: 1)
    #expect(driver.machine.progress(of: 1) == nil)
  }

  @Test func `pieces of several streams stay in order, and those of one are joined until they are taken`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1) + HTTP2ServerFrame.head(3))
    var bytes: [UInt8] = []
    for index in 0..<100 { bytes += HTTP2ServerFrame.data(index.isMultiple(of: 2) ? 1 : 3, [UInt8(index)]) }
    let events = driver.receive(bytes)
    #expect(events.count == 2)
    let evens = Data(stride(from: UInt8(0), to: 100, by: 2))
    let odds = Data(stride(from: UInt8(1), to: 100, by: 2))
    #expect(events == [.data(stream: 1, evens), .data(stream: 3, odds)])
    #expect(driver.receive(HTTP2ServerFrame.data(1, "a")) == [.data(stream: 1, Data("a".utf8))])
  }

  /// Section 8.1.
  @Test func `interim responses come before the head, and trailers behind the body`() {
    let driver = HTTP2Driver()
    driver.open()
    let events = driver.receive(
      HTTP2ServerFrame.head(1, 103, [("link", "a")]) + HTTP2ServerFrame.head(1, 100) + HTTP2ServerFrame.head(1)
        + HTTP2ServerFrame.data(1, "a") + HTTP2ServerFrame.headers(1, [("grpc-status", "0")], isEnd: true))
    #expect(
      events == [
        .informational(stream: 1, HTTPResponseHead(status: 103, headers: ["link": "a"])),
        .informational(stream: 1, HTTPResponseHead(status: 100)), .head(stream: 1, HTTPResponseHead(status: 200)),
        .data(stream: 1, Data("a".utf8)), .trailers(stream: 1, ["grpc-status": "0"]), .end(stream: 1, isClosed: true),
      ])
  }

  @Test func `the result is the same however the bytes of a server are split`() {
    let bytes =
      HTTP2ServerFrame.settings([(3, 10)]) + HTTP2ServerFrame.head(1, 103)
      + HTTP2ServerFrame.head(1, 200, [("content-length", "8")])
      + HTTP2ServerFrame.data(1, "12345") + HTTP2ServerFrame.head(3, 404, [("x", "y")], isEnd: true)
      + HTTP2ServerFrame.ping(1)
      + HTTP2ServerFrame.padded(1, "678", padding: 7) + HTTP2ServerFrame.headers(1, [("t", "u")], isEnd: true)
      + HTTP2ServerFrame.goAway(3, 2)
    let outcomes = (1...bytes.count).map { size in
      let driver = HTTP2Driver(settings: nil)
      driver.open()
      driver.open("POST")
      driver.machine.send(Data("body".utf8), on: 3, isEnd: true)
      let events = driver.receive(bytes, pieces: size)
      return "\(events) \(driver.takeFrames())"
    }
    #expect(Set(outcomes).count == 1)
    for cut in 0...bytes.count {
      let driver = HTTP2Driver(settings: nil)
      driver.open()
      driver.open("POST")
      driver.machine.send(Data("body".utf8), on: 3, isEnd: true)
      var events = driver.receive(Array(bytes[..<cut]))
      events += driver.receive(Array(bytes[cut...]))
      #expect(events.filter { if case .data = $0 { false } else { true } }.count == 9)
    }
  }

  @Test func `what a server does wrong in one response ends that stream alone`() {
    for (index, (what, bytes)) in Self.malformed.enumerated() {
      let driver = HTTP2Driver()
      driver.open(index.isMultiple(of: 2) ? "GET" : "QUERY")
      driver.open()
      _ = driver.takeFrames()
      let last = driver.receive(bytes).last
      guard case .reset(1, let reset) = last else {
        Issue.record("\(what): \(String(describing: last))")
        continue
      }
      #expect(!reset.isUnprocessed)
      #expect(reset.error.kind == .badResponse)
      #expect(driver.takeFrames() == [.reset(1, reset.code)], "\(what)")
      #expect(driver.failure == nil)
      #expect(driver.receive(HTTP2ServerFrame.head(3, isEnd: true)).count == 2)
      #expect(driver.machine.room > 1000)
    }
  }

  /// Found by fuzzing.
  @Test func `nothing is passed on of a frame that makes a body too long, however it is split`() {
    let bytes = HTTP2ServerFrame.head(1, 200, [("content-length", "5")]) + HTTP2ServerFrame.data(1, "123456")
    for size in 1...bytes.count {
      let driver = HTTP2Driver()
      driver.open()
      #expect(!driver.receive(bytes, pieces: size).contains { if case .data = $0 { true } else { false } })
    }
  }

  private static let malformed: [(String, [UInt8])] = [
    // Section 8.3.2.
    ("no status", HTTP2ServerFrame.headers(1, [("a", "b")])), ("nothing", HTTP2ServerFrame.headers(1, [])),
    ("a status behind a field", HTTP2ServerFrame.headers(1, [("a", "b"), (":status", "200")])),
    ("two statuses", HTTP2ServerFrame.headers(1, [(":status", "200"), (":status", "200")])),
    ("a status of two digits", HTTP2ServerFrame.headers(1, [(":status", "20")])),
    ("a status of four digits", HTTP2ServerFrame.headers(1, [(":status", "2000")])),
    ("a status that is no number", HTTP2ServerFrame.headers(1, [(":status", "+20")])),
    ("a status below 100", HTTP2ServerFrame.headers(1, [(":status", "099")])),
    // Section 8.3.
    ("an unknown pseudo header", HTTP2ServerFrame.head(1, 200, [(":other", "a")])),
    ("a pseudo header of requests", HTTP2ServerFrame.head(1, 200, [(":path", "/")])),
    ("a pseudo header in trailers", HTTP2ServerFrame.head(1) + HTTP2ServerFrame.head(1, isEnd: true)),
    // Section 8.2.1.
    ("a name in upper case", HTTP2ServerFrame.head(1, 200, [("Name", "a")])),
    ("an empty name", HTTP2ServerFrame.head(1, 200, [("", "a")])),
    ("a name with a space", HTTP2ServerFrame.head(1, 200, [("a b", "a")])),
    ("a value with a line end", HTTP2ServerFrame.head(1, 200, [("a", "b\r\nc")])),
    ("a value with NUL", HTTP2ServerFrame.head(1, 200, [("a", "\u{0}")])),
    ("a value that begins with a space", HTTP2ServerFrame.head(1, 200, [("a", " b")])),
    ("a value that ends with a tab", HTTP2ServerFrame.head(1, 200, [("a", "b\t")])),
    // Section 8.2.2.
    ("connection", HTTP2ServerFrame.head(1, 200, [("connection", "close")])),
    ("keep-alive", HTTP2ServerFrame.head(1, 200, [("keep-alive", "timeout=5")])),
    ("proxy-connection", HTTP2ServerFrame.head(1, 200, [("proxy-connection", "close")])),
    ("transfer-encoding", HTTP2ServerFrame.head(1, 200, [("transfer-encoding", "chunked")])),
    ("upgrade", HTTP2ServerFrame.head(1, 200, [("upgrade", "h2c")])),
    // Section 8.6.
    ("a switch of protocols", HTTP2ServerFrame.head(1, 101)),
    // Section 8.1.
    ("an interim response that ends the stream", HTTP2ServerFrame.head(1, 100, isEnd: true)),
    ("trailers that do not end it", HTTP2ServerFrame.head(1) + HTTP2ServerFrame.headers(1, [("a", "b")])),
    ("a body before the head", HTTP2ServerFrame.data(1, "a")),
    ("a body behind an interim response", HTTP2ServerFrame.head(1, 100) + HTTP2ServerFrame.data(1, "a")),
    ("too many interim responses", .repeating(HTTP2ServerFrame.head(1, 100), 101)),
    // Section 8.1.1.
    (
      "a body that is too long",
      HTTP2ServerFrame.head(1, 200, [("content-length", "1")]) + HTTP2ServerFrame.data(1, "ab")
    ),
    (
      "a body that is too short",
      HTTP2ServerFrame.head(1, 200, [("content-length", "3")]) + HTTP2ServerFrame.data(1, "ab", isEnd: true)
    ),
    ("a body that is missing", HTTP2ServerFrame.head(1, 200, [("content-length", "3")], isEnd: true)),
    (
      "a body that trailers end too early",
      HTTP2ServerFrame.head(1, 200, [("content-length", "3")]) + HTTP2ServerFrame.headers(1, [("a", "b")], isEnd: true)
    ),
    ("lengths that differ", HTTP2ServerFrame.head(1, 200, [("content-length", "1"), ("content-length", "2")])),
    ("a length that is no number", HTTP2ServerFrame.head(1, 200, [("content-length", "a")])),
    ("a body of 204", HTTP2ServerFrame.head(1, 204) + HTTP2ServerFrame.data(1, "a")),
    ("a body of 304", HTTP2ServerFrame.head(1, 304) + HTTP2ServerFrame.data(1, "a")),
    // Section 6.9.
    ("a window that grows by 0", HTTP2ServerFrame.windowUpdate(1, 0)),
    ("a window that is too large", HTTP2ServerFrame.windowUpdate(1, UInt32(Int32.max))),
  ]

  /// Section 8.1.1.
  @Test func `the length of a body that is not sent means nothing`() {
    let driver = HTTP2Driver()
    driver.open("HEAD")
    driver.open()
    let length = [("content-length", "5")]
    #expect(driver.receive(HTTP2ServerFrame.head(1, 200, length, isEnd: true)).last == .end(stream: 1, isClosed: true))
    #expect(
      driver.receive(HTTP2ServerFrame.head(3, 304, length) + HTTP2ServerFrame.data(3, "", isEnd: true)).count == 2)
  }

  @Test func `a head that is too large ends its stream, and the next is read as ever`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.open()
    var block = HTTP2ServerFrame.block([(":status", "200"), ("a", String(repeating: "b", count: 70_000))])
    // What is in the table counts, although its list is dropped.
    block += [0x40, 1, 0x78, 1, 0x79]
    var bytes = HTTP2ServerFrame.frame(1, 1, 1, Array(block.prefix(16_000)))
    for start in stride(from: 16_000, to: block.count, by: 16_000) {
      let piece = Array(block[start...].prefix(16_000))
      bytes += HTTP2ServerFrame.frame(9, start + 16_000 >= block.count ? 4 : 0, 1, piece)
    }
    #expect(driver.receive(bytes) == [.reset(stream: 1, HTTP2Reset(code: .cancel, cause: .tooLarge(64 << 10)))])
    #expect(
      driver.receive(HTTP2ServerFrame.frame(1, 5, 3, [0x88, 0xBE])) == [
        .head(stream: 3, HTTPResponseHead(status: 200, headers: ["x": "y"])), .end(stream: 3, isClosed: true),
      ])
  }

  // MARK: - Resets

  /// Sections 6.4, 8.7.
  @Test func `a stream that the server resets ends, and only REFUSED_STREAM says that nothing was done`() {
    let driver = HTTP2Driver()
    let codes: [HTTP2ErrorCode] = [.refusedStream, .cancel, .internalError, .http11Required, .noError]
    for code in codes {
      let stream = driver.open()
      let reset = HTTP2Reset(code: code, cause: .peer)
      #expect(driver.receive(HTTP2ServerFrame.reset(stream, code.rawValue)) == [.reset(stream: stream, reset)])
      #expect(reset.isUnprocessed == (code == .refusedStream))
      #expect(reset.error.reached == (code == .refusedStream ? .never : .maybe))
    }
    #expect(driver.machine.unfinishedStreams == [])
  }

  /// Section 8.1.
  @Test func `a server that has responded may refuse the rest of a request`() {
    let driver = HTTP2Driver()
    driver.open("POST", isEnd: false)
    driver.machine.send(Data(count: 100_000), on: 1, isEnd: true)
    #expect(driver.receive(HTTP2ServerFrame.head(1, 413, isEnd: true)).last == .end(stream: 1, isClosed: false))
    #expect(driver.machine.room < .max)
    #expect(driver.receive(HTTP2ServerFrame.reset(1, 0)) == [.closed(stream: 1)])
    #expect(driver.machine.progress(of: 1) == nil)
    let sent = driver.takeFrames().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
    #expect(sent == 0)
  }

  @Test func `a request may end after its response`() {
    let driver = HTTP2Driver()
    driver.open("POST", isEnd: false)
    #expect(driver.receive(HTTP2ServerFrame.head(1, 200, isEnd: true)).last == .end(stream: 1, isClosed: false))
    driver.machine.send(Data("a".utf8), on: 1, isEnd: true)
    #expect(driver.takeFrames().last == .data(1, [97], isEnd: true))
    #expect(driver.events() == [.closed(stream: 1)])
    #expect(driver.machine.openCount == 0)
  }

  /// Section 5.1.
  @Test func `what comes on a stream that was cancelled is ignored, but its head changes the table`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, "abc"))
    driver.machine.cancel(1)
    #expect(driver.takeFrames().last == .reset(1, .cancel))
    let events = driver.receive(
      HTTP2ServerFrame.data(1, "def") + HTTP2ServerFrame.frame(1, 5, 1, [0x40, 1, 0x78, 1, 0x79])
        + HTTP2ServerFrame.reset(1, 8)
        + HTTP2ServerFrame.windowUpdate(1, 5))
    #expect(events.isEmpty)
    #expect(driver.failure == nil)
    let head = driver.receive(HTTP2ServerFrame.frame(1, 5, 3, [0x88, 0xBE])).first
    #expect(head == .head(stream: 3, HTTPResponseHead(status: 200, headers: ["x": "y"])))
  }

  @Test func `the events of a stream that is cancelled are dropped`() {
    let driver = HTTP2Driver(settings: [(3, 2)])
    driver.open()
    driver.open()
    let bytes =
      HTTP2ServerFrame.head(1) + HTTP2ServerFrame.head(3) + HTTP2ServerFrame.data(1, "a")
      + HTTP2ServerFrame.data(3, "b")
    bytes.withUnsafeBytes { bytes in #expect(throws: Never.self) { try driver.machine.receive(bytes, at: driver.now) } }
    driver.machine.cancel(1)
    #expect(driver.events() == [.head(stream: 3, HTTPResponseHead(status: 200)), .data(stream: 3, Data("b".utf8))])
  }

  @Test(arguments: [
    HTTP2ServerFrame.data(1, "a"), HTTP2ServerFrame.head(1), HTTP2ServerFrame.headers(1, [], isEnd: true),
  ])
  func `what comes behind the end of a response is an error`(bytes: [UInt8]) {
    for isEnd in [true, false] {
      let driver = HTTP2Driver()
      driver.open("POST", isEnd: isEnd)
      driver.receive(HTTP2ServerFrame.head(1, isEnd: true))
      driver.receive(bytes)
      #expect(driver.failure?.code == .streamClosed)
    }
  }

  @Test func `a stream that was reset before many others may still get something`() {
    let driver = HTTP2Driver()
    for _ in 0..<600 {
      let stream = driver.open()
      _ = driver.takeFrames()
      driver.machine.cancel(stream)
    }
    driver.receive(HTTP2ServerFrame.data(1, "a") + HTTP2ServerFrame.data(1199, "a") + HTTP2ServerFrame.data(801, "a"))
    #expect(driver.failure == nil)
  }
}
