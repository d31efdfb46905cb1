import Foundation
import HTTPClientCore
import Testing

@testable import SocketHTTP

/// RFC 9113, sections 5.2 and 6.9.
@Suite struct HTTP2FlowControlTests {
  @Test func `E1: 256 slow observers leave the others a window`() {
    let configuration = HTTP2Configuration()
    let most = 256 * configuration.streamWindow + configuration.largestGrowth
    #expect(configuration.connectionWindow >= most + configuration.streamWindow)
  }

  // MARK: - Sending

  @Test func `a body is sent as far as the stream's window allows, and its end with the last byte`() {
    let driver = HTTP2Driver(settings: [(4, 10)])
    driver.open("POST", isEnd: false)
    driver.machine.send(Data("0123456789abcdef".utf8), on: 1, isEnd: true)
    #expect(driver.takeFrames().dropFirst() == [.data(1, Array("0123456789".utf8))])
    let progress = HTTP2Progress(isBegun: true, hasLeft: true, queued: 6, written: 10, isWritten: false)
    #expect(driver.machine.progress(of: 1) == progress)
    driver.receive(HTTP2ServerFrame.windowUpdate(1, 2))
    #expect(driver.takeFrames() == [.data(1, Array("ab".utf8))])
    driver.receive(HTTP2ServerFrame.windowUpdate(1, 100))
    #expect(driver.takeFrames() == [.data(1, Array("cdef".utf8), isEnd: true)])
    #expect(driver.machine.progress(of: 1)?.isWritten == true)
  }

  @Test func `all streams share the connection's window`() {
    let driver = HTTP2Driver(settings: [(4, 1 << 20)])
    for stream: UInt32 in [1, 3] {
      driver.open("POST", isEnd: false)
      driver.machine.send(Data(count: 60_000), on: stream, isEnd: true)
    }
    #expect(driver.sentBodies() == 65_535)
    driver.receive(HTTP2ServerFrame.windowUpdate(0, 1000))
    #expect(driver.sentBodies() == 1000)
    driver.receive(HTTP2ServerFrame.windowUpdate(0, 1 << 20))
    #expect(driver.sentBodies() == 120_000 - 66_535)
  }

  @Test func `an end needs no window`() {
    let driver = HTTP2Driver(settings: [(4, 0)])
    driver.open("POST", isEnd: false)
    driver.machine.send(Data(), on: 1, isEnd: false)
    #expect(driver.takeFrames().map(\.type) == [1])
    driver.machine.send(Data(), on: 1, isEnd: true)
    #expect(driver.takeFrames() == [.data(1, [], isEnd: true)])
  }

  /// Section 6.9.2.
  @Test func `a setting changes the windows of all streams, which may become negative`() {
    let driver = HTTP2Driver(settings: [(4, 100)])
    driver.open("POST", isEnd: false)
    driver.machine.send(Data(count: 1000), on: 1, isEnd: true)
    #expect(driver.sentBodies() == 100)
    driver.receive(HTTP2ServerFrame.settings([(4, 30)]))
    driver.receive(HTTP2ServerFrame.windowUpdate(1, 70))
    #expect(driver.sentBodies() == 0)
    driver.receive(HTTP2ServerFrame.windowUpdate(1, 5))
    #expect(driver.sentBodies() == 5)
    driver.receive(HTTP2ServerFrame.settings([(4, 50)]))
    #expect(driver.sentBodies() == 20)
  }

  @Test func `a window that becomes too large is an error of what it belongs to`() {
    let driver = HTTP2Driver()
    driver.receive(HTTP2ServerFrame.windowUpdate(0, UInt32(Int32.max)))
    #expect(driver.failure?.code == .flowControlError)
    let second = HTTP2Driver()
    second.receive(HTTP2ServerFrame.windowUpdate(0, 0))
    #expect(second.failure?.code == .protocolError)
    let third = HTTP2Driver()
    third.open()
    third.receive(HTTP2ServerFrame.windowUpdate(1, UInt32(Int32.max) - 65_535))
    #expect(third.failure == nil)
    third.receive(HTTP2ServerFrame.settings([(4, 65_536)]))
    #expect(third.failure?.code == .flowControlError)
  }

  @Test func `streams take turns, a frame each`() {
    let driver = HTTP2Driver(settings: [(4, 1 << 20)])
    driver.receive(HTTP2ServerFrame.windowUpdate(0, 1 << 20))
    for stream: UInt32 in [1, 3, 5] {
      driver.open("POST", isEnd: false)
      driver.machine.send(Data(count: 40_000), on: stream, isEnd: true)
    }
    let frames = driver.takeFrames().filter { $0.type == 0 }
    #expect(frames.map(\.stream) == [1, 3, 5, 1, 3, 5, 1, 3, 5])
    #expect(frames.map(\.payload.count) == [16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 7232, 7232, 7232])
  }

  @Test func `no more than some frames are written ahead, so that others need not wait behind all`() {
    let driver = HTTP2Driver(settings: [(4, 1 << 24)])
    driver.receive(HTTP2ServerFrame.windowUpdate(0, 1 << 24))
    driver.open("POST", isEnd: false)
    driver.machine.send(Data(count: 1 << 20), on: 1, isEnd: true)
    #expect(driver.machine.withOutput(\.count) ?? 0 < 90_000)
    driver.open()
    let frames = HTTP2ClientFrame.taken(driver.takeBytes(upTo: 100_000))
    #expect(frames.contains { $0.stream == 3 })
  }

  @Test func `pieces of a body follow one another, and what comes for a stream that has ended is dropped`() {
    let driver = HTTP2Driver()
    driver.open("POST", isEnd: false)
    driver.machine.send(Data("a".utf8), on: 1, isEnd: false)
    driver.machine.send(Data("b".utf8), on: 1, isEnd: true)
    driver.machine.send(Data("c".utf8), on: 1, isEnd: true)
    #expect(driver.takeFrames().dropFirst() == [.data(1, [97]), .data(1, [98], isEnd: true)])
    driver.machine.cancel(1)
    driver.machine.send(Data("d".utf8), on: 1, isEnd: true)
    #expect(driver.takeFrames() == [.reset(1, .cancel)])
  }

  // MARK: - Receiving

  private static let small = HTTP2Configuration(
    connectionWindow: 100_000, streamWindow: 1000, largestStreamWindow: 1000)

  /// The windows that a stream is given while its observer takes bodies in pieces of 500 bytes.
  private func increments(_ configuration: HTTP2Configuration, streams: Int = 1) -> [UInt32] {
    let driver = HTTP2Driver(configuration)
    let all = (0..<streams).map { _ in driver.open() }
    for stream in all { driver.receive(HTTP2ServerFrame.head(stream)) }
    _ = driver.takeFrames()
    for _ in 0..<40 {
      for stream in all {
        driver.receive(HTTP2ServerFrame.data(stream, .zeros(500)))
        driver.machine.consumed(500, on: stream)
      }
    }
    return driver.takeFrames().filter { $0.type == 8 && $0.stream != 0 }.map { UInt32($0.number) }
  }

  @Test func `the window of a stream grows up to a limit while its observer keeps up with a large body`() {
    let configuration = HTTP2Configuration(connectionWindow: 100_000, streamWindow: 1000, largestStreamWindow: 5000)
    #expect(increments(configuration).prefix(4) == [3500, 3000, 2500, 2500])
  }

  @Test func `the window of a stream does not grow while its observer is behind`() {
    let driver = HTTP2Driver(
      HTTP2Configuration(connectionWindow: 100_000, streamWindow: 1000, largestStreamWindow: 5000))
    let stream = driver.open()
    driver.receive(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, .zeros(1000)))
    _ = driver.takeFrames()
    for _ in 0..<10 {
      driver.machine.consumed(500, on: stream)
      driver.receive(HTTP2ServerFrame.data(stream, .zeros(500)))
    }
    driver.machine.consumed(100, on: stream)
    #expect(driver.takeFrames().filter { $0.stream != 0 }.map(\.number) == .init(repeating: 500, count: 10))
  }

  @Test func `the windows of all streams grow no more than by a limit together`() {
    let configuration = HTTP2Configuration(
      connectionWindow: 100_000, streamWindow: 1000, largestStreamWindow: 8000, largestGrowth: 1500)
    // What is given beyond what came.
    let given = increments(configuration, streams: 3).reduce(0) { $0 + Int($1) }
    #expect(given <= 3 * 40 * 500 + 1500)
    #expect(given > 3 * 40 * 500 + 1500 - 3 * 4000)
  }

  @Test func `a stream gets its window back once half of it was consumed`() {
    let driver = HTTP2Driver(Self.small)
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, [UInt8](repeating: 1, count: 1000)))
    _ = driver.takeFrames()
    driver.machine.consumed(499, on: 1)
    #expect(driver.takeFrames().isEmpty)
    driver.machine.consumed(1, on: 1)
    #expect(driver.takeFrames() == [.windowUpdate(1, 500)])
    driver.machine.consumed(10_000, on: 1)
    #expect(driver.takeFrames() == [.windowUpdate(1, 500)])
    driver.machine.consumed(10_000, on: 1)
    #expect(driver.takeFrames().isEmpty)
  }

  @Test func `a stream that gets more than its window is reset, and a connection that does ends`() {
    let driver = HTTP2Driver(Self.small)
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, .zeros(1000)))
    let events = driver.receive(HTTP2ServerFrame.data(1, [1]))
    guard case .reset(1, let reset) = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(reset.code == .flowControlError)
    for _ in 0..<101 where driver.failure == nil {
      let stream = driver.open()
      driver.receive(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, .zeros(1000)))
    }
    #expect(driver.failure?.code == .flowControlError)
  }

  @Test func `the connection gets back what a stream has not consumed that is cancelled`() {
    let driver = HTTP2Driver(Self.small)
    for _ in 0..<500 {
      let stream = driver.open()
      driver.receive(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, .zeros(1000)))
      driver.machine.consumed(300, on: stream)
      driver.machine.cancel(stream)
      driver.machine.consumed(700, on: stream)
      _ = driver.takeFrames()
    }
    #expect(driver.failure == nil)
  }

  @Test func `the connection gets back what comes on a stream after it was cancelled, but no more than was allowed`() {
    let driver = HTTP2Driver(Self.small)
    var returned = 0
    for _ in 0..<200 {
      let stream = driver.open()
      driver.machine.cancel(stream)
      driver.receive(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, .zeros(1000)))
      returned += driver.takeFrames().filter { $0.type == 8 }.reduce(0) { $0 + Int($1.number) }
    }
    #expect(driver.failure == nil)
    #expect(returned > 100_000)
    let stream = driver.open()
    driver.machine.cancel(stream)
    driver.receive(HTTP2ServerFrame.data(stream, .zeros(1001)))
    #expect(driver.failure?.code == .flowControlError)
  }

  @Test func `what a response leaves unread when it has ended counts until it is consumed`() {
    let driver = HTTP2Driver(HTTP2Configuration(connectionWindow: 65_535, streamWindow: 65_535))
    driver.open()
    driver.open()
    let body: [UInt8] = .zeros(16_000)
    driver.receive(
      HTTP2ServerFrame.head(1) + .repeating(HTTP2ServerFrame.data(1, body), 3)
        + HTTP2ServerFrame.data(1, body, isEnd: true))
    _ = driver.takeFrames()
    #expect(driver.machine.openCount == 1)
    driver.machine.consumed(64_000, on: 1)
    #expect(driver.takeFrames() == [.windowUpdate(0, 64_000)])
    #expect(driver.machine.progress(of: 1) == nil)
  }

  /// Section 6.1.
  @Test func `padding counts, and is given back without being consumed`() {
    let driver = HTTP2Driver(Self.small)
    driver.open()
    driver.receive(HTTP2ServerFrame.head(1))
    _ = driver.takeFrames()
    for _ in 0..<2 { driver.receive(HTTP2ServerFrame.padded(1, "", padding: 249)) }
    #expect(driver.takeFrames() == [.windowUpdate(1, 500)])
    for _ in 0..<100 { driver.receive(HTTP2ServerFrame.padded(1, "a", padding: 249)) }
    #expect(driver.failure == nil)
    driver.machine.consumed(100, on: 1)
    #expect(
      driver.receive(HTTP2ServerFrame.padded(1, "", padding: 249, isEnd: true)) == [.end(stream: 1, isClosed: true)])
  }
}

extension HTTP2Driver {
  /// How many bytes of bodies the client has sent.
  fileprivate func sentBodies() -> Int {
    takeFrames().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
  }
}

extension HTTP2ClientFrame {
  fileprivate static func taken(_ bytes: [UInt8]) -> [HTTP2ClientFrame] {
    var bytes = bytes
    return take(from: &bytes)
  }
}
