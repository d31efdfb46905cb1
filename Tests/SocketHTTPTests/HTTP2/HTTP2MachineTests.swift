import Foundation
import HTTPClientCore
import Streams
import Testing

@testable import SocketHTTP

/// RFC 9113: the connection as a whole.
@Suite struct HTTP2MachineTests {
  // MARK: - The beginning

  /// Section 3.4.
  @Test func `the client begins with the preface, its settings, and the window of the connection`() {
    let driver = HTTP2Driver(settings: nil)
    #expect(driver.machine.withOutput { $0.starts(with: HTTP2Driver.preface) } == true)
    let frames = driver.takeFrames()
    #expect(frames.map(\.type) == [4, 8])
    #expect(
      frames.first?.payload == [0, 2, 0, 0, 0, 0] + [0, 4, 0, 8, 0, 0] + [0, 6, 0, 1, 0, 0])
    #expect(frames.last == .windowUpdate(0, (168 << 20) - 65_535))
  }

  @Test func `a table of another size is among the settings, and the decoder's once these are acknowledged`() {
    let driver = HTTP2Driver(HTTP2Configuration(headerTableSize: 0), settings: nil)
    #expect(driver.takeFrames().first?.payload.suffix(6) == [0, 1, 0, 0, 0, 0])
    driver.receive(HTTP2ServerFrame.settings())
    driver.open()
    driver.open()
    #expect(driver.receive(HTTP2ServerFrame.head(1, isEnd: true)).count == 2)
    driver.receive(HTTP2ServerFrame.acknowledgement + HTTP2ServerFrame.head(3, isEnd: true))
    // Section 4.3.1; RFC 7541, section 4.2.
    #expect(driver.failure?.code == .compressionError)
  }

  /// Section 10.5.
  @Test func `resets of a stream whose response its observer has yet to take are counted, too`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, "x", isEnd: true))
    for _ in 0..<10_000 where driver.failure == nil { driver.receive(HTTP2ServerFrame.reset(1, 8)) }
    #expect(driver.failure?.code == .enhanceYourCalm)
  }

  /// Section 6.5.3.
  @Test func `settings are acknowledged`() {
    let driver = HTTP2Driver(settings: nil)
    _ = driver.takeFrames()
    #expect(driver.machine.awaitsAcknowledgement == true)
    driver.receive(HTTP2ServerFrame.settings() + HTTP2ServerFrame.acknowledgement + HTTP2ServerFrame.settings())
    #expect(driver.takeFrames() == [HTTP2ClientFrame(type: 4, flags: 1), HTTP2ClientFrame(type: 4, flags: 1)])
    #expect(driver.machine.awaitsAcknowledgement == false)
  }

  /// Section 6.5.2; RFC 8441, section 3.
  @Test(
    arguments: [
      ([(2, 1)], .protocolError), ([(2, 2)], .protocolError), ([(4, 1 << 31)], .flowControlError),
      ([(5, 16_383)], .protocolError), ([(5, 1 << 24)], .protocolError), ([(8, 2)], .protocolError),
      ([(8, 1), (8, 0)], .protocolError),
    ] as [([(UInt16, UInt32)], HTTP2ErrorCode)])
  func `a setting that must not be is an error`(settings: [(UInt16, UInt32)], code: HTTP2ErrorCode) {
    let driver = HTTP2Driver(settings: nil)
    driver.receive(HTTP2ServerFrame.settings(settings))
    #expect(driver.failure?.code == code)
    let last = driver.takeFrames().last
    #expect(last?.type == 7)
    #expect(last?.payload[4..<8] == HTTP2ServerFrame.bytes(code.rawValue)[...])
  }

  @Test func `settings that are fine or unknown are taken, the last of several`() {
    let driver = HTTP2Driver(
      settings: [(1, 0), (2, 0), (3, 1), (3, 7), (4, 5), (5, 20_000), (6, 99), (8, 1), (0xABCD, 1)])
    #expect(driver.failure == nil)
    #expect(driver.machine.peer.maximumStreams == 7)
    #expect(driver.machine.peer.initialWindow == 5)
    #expect(driver.machine.peer.largestFrame == 20_000)
    #expect(driver.machine.peer.largestHead == 99)
    #expect(driver.machine.peer.allowsConnectProtocol == true)
  }

  // MARK: - How many streams

  /// Section 5.1.2.
  @Test func `until the settings have come 100 streams may be open, then as many as these say`() {
    let driver = HTTP2Driver(settings: nil)
    #expect(driver.machine.room == 100)
    for _ in 0..<100 { driver.open() }
    #expect(driver.machine.room == 0)
    #expect(driver.machine.open(.sample(), isEnd: true) == nil)
    #expect(driver.receive(HTTP2ServerFrame.settings([(3, 120)])) == [.limit(120)])
    #expect(driver.machine.room == 20)
    #expect(driver.receive(HTTP2ServerFrame.settings([(3, 2)])) == [.limit(2)])
    #expect(driver.machine.room == 0)
    #expect(driver.receive(HTTP2ServerFrame.settings([(3, 2)])).isEmpty)
  }

  @Test func `a server that sets no limit has none`() {
    let driver = HTTP2Driver(settings: nil)
    #expect(driver.receive(HTTP2ServerFrame.settings()) == [.limit(.max)])
  }

  @Test func `a stream that has ended makes room for another`() {
    let driver = HTTP2Driver(settings: [(3, 1)])
    let first = driver.open()
    #expect(driver.machine.room == 0)
    driver.receive(HTTP2ServerFrame.head(first, isEnd: true))
    #expect(driver.machine.room == 1)
    let second = driver.open()
    driver.machine.cancel(second)
    #expect(driver.machine.room == 1)
    let third = driver.open()
    driver.receive(HTTP2ServerFrame.reset(third, 7))
    #expect(driver.machine.room == 1)
    #expect([first, second, third] == [1, 3, 5])
  }

  /// Section 5.1.1.
  @Test func `once there are no more identifiers, no more streams are opened`() {
    let driver = HTTP2Driver(firstStream: UInt32(Int32.max) - 2)
    #expect(driver.open() == UInt32(Int32.max) - 2)
    #expect(driver.events().isEmpty)
    #expect(driver.open() == UInt32(Int32.max))
    #expect(driver.events() == [.limit(0)])
    #expect(driver.machine.room == 0)
    #expect(driver.machine.open(.sample(), isEnd: true) == nil)
    #expect(driver.receive(HTTP2ServerFrame.head(UInt32(Int32.max), isEnd: true)).count == 2)
    #expect(driver.receive(HTTP2ServerFrame.settings([(3, 50)])).isEmpty)
  }

  // MARK: - Pings

  /// Section 6.7.
  @Test func `a ping is answered with what it has`() {
    let driver = HTTP2Driver()
    driver.receive(HTTP2ServerFrame.ping(9))
    #expect(driver.takeFrames() == [HTTP2ClientFrame(type: 6, flags: 1, payload: [0, 0, 0, 0, 0, 0, 0, 9])])
  }

  @Test func `the answer of a ping is an event, and that of no ping is none`() {
    let driver = HTTP2Driver()
    #expect(driver.machine.ping() == 1)
    #expect(driver.machine.ping() == 2)
    #expect(driver.takeFrames().map(\.type) == [6, 6])
    #expect(driver.receive(HTTP2ServerFrame.ping(7, isAnswer: true)).isEmpty)
    #expect(driver.receive(HTTP2ServerFrame.ping(1, isAnswer: true)) == [.pong(1)])
    #expect(driver.receive(HTTP2ServerFrame.ping(1, isAnswer: true)).isEmpty)
  }

  @Test func `a server that answers no ping gets no more than 16`() {
    let driver = HTTP2Driver()
    for _ in 0..<16 { #expect(driver.machine.ping() != nil) }
    #expect(driver.machine.ping() == nil)
  }

  // MARK: - The end

  /// Section 6.8.
  @Test func `GOAWAY ends the streams that the server has not taken, and lets the others go on`() {
    let driver = HTTP2Driver()
    for _ in 0..<3 { driver.open() }
    let events = driver.receive(HTTP2ServerFrame.goAway(3, 0, "bye"))
    #expect(
      events == [
        .goAway(lastStream: 3, .noError, text: "bye"), .limit(0),
        .reset(stream: 5, HTTP2Reset(code: .noError, cause: .goAway)),
      ])
    #expect(HTTP2Reset(code: .noError, cause: .goAway).isUnprocessed)
    #expect(driver.machine.room == 0)
    #expect(driver.machine.open(.sample(), isEnd: true) == nil)
    #expect(driver.receive(HTTP2ServerFrame.head(1, isEnd: true) + HTTP2ServerFrame.head(3, isEnd: true)).count == 4)
    #expect(driver.machine.unfinishedStreams == [])
  }

  @Test func `GOAWAY may come twice, first with the greatest number`() {
    let driver = HTTP2Driver()
    for _ in 0..<2 { driver.open() }
    let first = driver.receive(HTTP2ServerFrame.goAway(UInt32(Int32.max)))
    #expect(first == [.goAway(lastStream: UInt32(Int32.max), .noError, text: ""), .limit(0)])
    let second = driver.receive(HTTP2ServerFrame.goAway(1))
    #expect(
      second == [
        .goAway(lastStream: 1, .noError, text: ""),
        .reset(stream: 3, HTTP2Reset(code: .noError, cause: .goAway)),
      ])
  }

  /// Section 6.8: no stream is opened after it.
  @Test func `GOAWAY ends the streams whose heads are still to be written, whatever it says`() {
    let driver = HTTP2Driver()
    driver.open()
    // The system takes no more than this for now.
    var bytes = driver.takeBytes(upTo: 5)
    driver.open()
    let events = driver.receive(HTTP2ServerFrame.goAway(UInt32(Int32.max)))
    #expect(
      events == [
        .goAway(lastStream: UInt32(Int32.max), .noError, text: ""), .limit(0),
        .reset(stream: 3, HTTP2Reset(code: .noError, cause: .goAway)),
      ])
    bytes += driver.takeBytes()
    #expect(HTTP2ClientFrame.take(from: &bytes).map(\.stream) == [1])
  }

  /// Section 5.1.2.
  @Test(arguments: [0, 2] as [UInt32])
  func `no more streams are begun behind the acknowledgement of a limit than it allows`(limit: UInt32) {
    let driver = HTTP2Driver()
    driver.open()
    var bytes = driver.takeBytes(upTo: 5)
    for _ in 0..<9 { driver.open() }
    let events = driver.receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, limit)]))
    bytes += driver.takeBytes()
    #expect(HTTP2ClientFrame.take(from: &bytes).count { $0.type == HTTP2FrameType.headers } == max(1, Int(limit)))
    let dropped = events.dropFirst()
    #expect(events.first == .limit(Int(limit)))
    #expect(dropped.count == 10 - max(1, Int(limit)))
    #expect(dropped.first == .reset(stream: 19, HTTP2Reset(code: .noError, cause: .limit)))
  }

  @Test func `the body of a request whose head was never written is not sent`() {
    let driver = HTTP2Driver()
    driver.open()
    var bytes = driver.takeBytes(upTo: 5)
    driver.open("POST", isEnd: false)
    driver.machine.send(Data("mutation".utf8), on: 3, isEnd: true)
    driver.machine.shutDown()
    bytes += driver.takeBytes()
    #expect(!HTTP2ClientFrame.take(from: &bytes).contains { $0.stream == 3 })
  }

  @Test(arguments: [false, true])
  func `few heads wait for a server that does not read, whether or not they are cancelled`(isCancelled: Bool) {
    let driver = HTTP2Driver(settings: [(HTTP2Setting.maximumConcurrentStreams, 100_000)])
    driver.open()
    _ = driver.takeBytes(upTo: 5)
    var count = 0
    while count < 10_000, let stream = driver.machine.open(.sample(), isEnd: true) {
      if isCancelled { driver.machine.cancel(stream) }
      count += 1
    }
    #expect(count <= 1000)
    #expect(driver.machine.room == 0)
  }

  /// Section 5.1: it is idle to the server.
  @Test(arguments: [HTTP2ServerFrame.reset(3, 1), HTTP2ServerFrame.windowUpdate(3, 100), HTTP2ServerFrame.head(3)])
  func `a frame for a stream whose head was not written ends the connection`(frame: [UInt8]) {
    let driver = HTTP2Driver()
    driver.open()
    _ = driver.takeBytes(upTo: 5)
    driver.open()
    driver.receive(frame)
    #expect(driver.failure?.code == .protocolError)
    let other = HTTP2Driver()
    other.open()
    _ = other.takeBytes(upTo: 5)
    other.machine.cancel(other.open())
    other.receive(frame)
    #expect(other.failure?.code == .protocolError)
  }

  @Test func `a response that has begun is not taken back by GOAWAY`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.open()
    driver.receive(HTTP2ServerFrame.head(3))
    #expect(
      driver.receive(HTTP2ServerFrame.goAway(0)).last == .reset(stream: 1, HTTP2Reset(code: .noError, cause: .goAway)))
    #expect(driver.receive(HTTP2ServerFrame.data(3, "a", isEnd: true)).count == 2)
  }

  @Test func `once it is shut down, no more streams are opened, and those that are open go on`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.machine.shutDown()
    #expect(driver.events() == [.limit(0)])
    #expect(driver.takeFrames().last?.type == 7)
    #expect(driver.machine.room == 0)
    #expect(driver.receive(HTTP2ServerFrame.head(1, isEnd: true)).count == 2)
  }

  @Test func `the end of what is received cuts off what is not whole`() {
    #expect(HTTP2Driver(settings: nil).machine.receiveEnd() == true)
    let driver = HTTP2Driver()
    driver.open()
    #expect(driver.machine.receiveEnd() == true)
    driver.receive(HTTP2ServerFrame.head(1, isEnd: true))
    #expect(driver.machine.receiveEnd() == false)
    driver.receive([0, 0])
    #expect(driver.machine.receiveEnd() == true)
  }

  @Test func `after an error nothing is taken, and what was to be sent is, with the reason last`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.receive(HTTP2ServerFrame.data(2, "a"))
    let failure = driver.failure
    #expect(failure?.code == .protocolError)
    #expect(driver.machine.unfinishedStreams == [1])
    #expect(driver.takeFrames().map(\.type) == [1, 7])
    #expect(driver.receive(HTTP2ServerFrame.head(1)).isEmpty)
    #expect(driver.failure == failure)
    #expect(driver.machine.open(.sample(), isEnd: true) == nil)
    driver.machine.cancel(1)
    #expect(driver.takeFrames().isEmpty)
  }

  /// Section 5.1.
  @Test(
    arguments: [
      HTTP2ServerFrame.head(1), HTTP2ServerFrame.data(1, "a"), HTTP2ServerFrame.reset(1, 8),
      HTTP2ServerFrame.windowUpdate(1, 1),
      HTTP2ServerFrame.head(2), HTTP2ServerFrame.reset(2, 8),
    ])
  func `a frame of a stream that was not opened is an error`(bytes: [UInt8]) {
    let driver = HTTP2Driver()
    driver.receive(bytes)
    #expect(driver.failure?.code == .protocolError)
  }

  // MARK: - Floods

  /// Section 10.5: each what is sent without end, and how many bytes may come of it that wait to be sent.
  @Test(
    arguments: [
      ("SETTINGS", HTTP2ServerFrame.settings()),
      ("SETTINGS of many", HTTP2ServerFrame.settings(.init(repeating: (9, 1), count: 2000))),
      ("acknowledgements", HTTP2ServerFrame.acknowledgement), ("PING", HTTP2ServerFrame.ping(1)),
      ("answers of pings", HTTP2ServerFrame.ping(1, isAnswer: true)),
      ("PRIORITY", HTTP2ServerFrame.frame(2, 0, 1, .zeros(5))),
      ("unknown frames", HTTP2ServerFrame.frame(99)),
      ("unknown frames with content", HTTP2ServerFrame.frame(99, 0, 0, [1])),
      ("empty DATA", HTTP2ServerFrame.data(3, "")), ("padding", HTTP2ServerFrame.padded(3, "", padding: 0)),
      ("WINDOW_UPDATE", HTTP2ServerFrame.windowUpdate(0, 1)),
      ("WINDOW_UPDATE of a stream", HTTP2ServerFrame.windowUpdate(3, 1)),
      ("WINDOW_UPDATE of a closed one", HTTP2ServerFrame.windowUpdate(1, 1)),
      ("RST_STREAM", HTTP2ServerFrame.reset(1, 8)),
      ("heads of a stream that was reset", HTTP2ServerFrame.head(1)), ("GOAWAY", HTTP2ServerFrame.goAway(99)),
      (
        "empty CONTINUATION",
        HTTP2ServerFrame.frame(1, 0, 1) + .repeating(HTTP2ServerFrame.frame(9, 0, 1), 60)
          + HTTP2ServerFrame.frame(9, 4, 1)
      ),
    ])
  func `a server that sends frames without end that say nothing is refused`(what: String, bytes: [UInt8]) {
    let driver = HTTP2Driver()
    let cancelled = driver.open()
    driver.machine.cancel(cancelled)
    driver.open()
    driver.receive(HTTP2ServerFrame.head(3))
    var count = 0
    while driver.failure == nil, count < 100_000 {
      driver.receive(bytes)
      // A server that reads is not refused for what it does not read.
      if count.isMultiple(of: 100) { _ = driver.takeFrames() }
      count += 1
    }
    #expect(driver.failure?.code == .enhanceYourCalm, "\(what)")
    #expect(driver.takeBytes().count < 64 << 10)
  }

  @Test func `responses to requests that were cancelled meanwhile are no flood`() {
    let driver = HTTP2Driver()
    for _ in 0..<10_000 {
      let stream = driver.open()
      _ = driver.takeBytes()
      driver.machine.cancel(stream)
      _ = driver.takeBytes()
      let end = HTTP2ServerFrame.data(stream, "", isEnd: true) + HTTP2ServerFrame.reset(stream, 0)
      driver.receive(HTTP2ServerFrame.head(stream) + end)
    }
    #expect(driver.failure == nil)
  }

  /// More streams than are remembered. As much as the connection's window may have been on its way when they were reset.
  @Test func `DATA on streams that were reset long ago may come up to a window, and not without end`() {
    let driver = HTTP2Driver()
    for _ in 0..<1000 { driver.machine.cancel(driver.open()) }
    _ = driver.takeBytes()
    let (data, most) = (HTTP2ServerFrame.data(1, String(repeating: "x", count: 16_384)), (168 << 20) / 16_384)
    for _ in 0..<most where driver.failure == nil { driver.receive(data) }
    #expect(driver.failure == nil)
    for _ in 0..<most where driver.failure == nil { driver.receive(data) }
    #expect(driver.failure?.code == .enhanceYourCalm)
  }

  @Test func `frames that say nothing may come for as long as one wants if they do not come too often`() {
    let driver = HTTP2Driver()
    for _ in 0..<6_000 {
      driver.now = driver.now + .milliseconds(100)
      driver.receive(HTTP2ServerFrame.ping(1))
      _ = driver.takeFrames()
    }
    #expect(driver.failure == nil)
  }

  @Test func `frames that say nothing may come along with bodies`() {
    let driver = HTTP2Driver()
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1))
    let data = HTTP2ServerFrame.data(1, [UInt8](repeating: 1, count: 2000))
    for _ in 0..<6_000 {
      driver.receive(data + HTTP2ServerFrame.ping(1))
      driver.machine.consumed(2000, on: 1)
      _ = driver.takeFrames()
    }
    #expect(driver.failure == nil)
  }

  @Test func `a server that does not read the answers that it asks for is refused`() {
    let driver = HTTP2Driver()
    for _ in 0..<1000 { driver.receive(HTTP2ServerFrame.ping(1)) }
    #expect(driver.failure == nil)
    driver.receive(HTTP2ServerFrame.ping(1))
    #expect(driver.failure?.code == .enhanceYourCalm)
  }

  @Test func `blocks that make large lists of few bytes are refused in the end`() {
    let driver = HTTP2Driver()
    for _ in 0..<300 where driver.failure == nil {
      let stream = driver.open()
      _ = driver.takeFrames()
      // An entry of 4,000 bytes, 10,000 times.
      let entry: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4000)
      let events = driver.receive(HTTP2ServerFrame.frame(1, 4, stream, entry + .repeating([0xBE], 10_000)))
      let reset = HTTP2Event.reset(stream: stream, HTTP2Reset(code: .cancel, cause: .tooLarge(64 << 10)))
      #expect(events == (driver.failure == nil ? [reset] : []))
    }
    #expect(driver.failure?.code == .enhanceYourCalm)
  }

  @Test func `heads that are like the one before are the same to the server, whatever changes in between`() throws {
    let driver = HTTP2Driver()
    let first: HTTPHeaders = ["Accept": "application/json", "X-Number": "1"]
    let second: HTTPHeaders = ["Accept": "application/json", "X-Number": "2"]
    let all = [first, first, first, second, first, ["Accept": "text/plain"], first, first]
    var expected: [[[String]]] = []
    for (number, headers) in all.enumerated() {
      // The server changes the size of the table.
      if number == 2 { driver.receive(HTTP2ServerFrame.settings([(1, 0)])) }
      var head = HTTP2RequestHead.sample("POST", headers)
      head.contentLength = number * 1000
      expected.append(
        [[":method", "POST"]] + headers.map { [$0.name.lowercased(), $0.value] }
          + [["content-length", "\(number * 1000)"]])
      _ = driver.machine.open(head, isEnd: true)
    }
    let sent = try driver.takeFrames().filter { $0.type == 1 }.map { frame in
      try driver.fields(frame).filter { ![":scheme", ":authority", ":path"].contains($0.first) }
    }
    #expect(sent == expected)
  }

  /// RFC 7541, section 4.2.
  @Test func `of several table sizes in one frame, the least is confirmed, too`() {
    let driver = HTTP2Driver()
    driver.open()
    _ = driver.takeFrames()
    let size = HTTP2Setting.headerTableSize
    driver.receive(HTTP2ServerFrame.settings([(size, 0), (size, 4096)]))
    driver.open()
    let head = driver.takeFrames().first { $0.type == 1 }
    #expect(head?.payload.prefix(4) == [0x20, 0x3F, 0xE1, 0x1F])
  }
}
