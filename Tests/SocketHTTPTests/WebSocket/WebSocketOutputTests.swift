import Foundation
import HTTPClientCore
import Streams
import SystemBase
import TestSupport
import Testing

@testable import SocketHTTP

@Suite struct WebSocketOutputTests {
  /// A socket with room for so many bytes.
  private final class FakeChannel: ByteChannel {
    var room: Int
    var sent: [UInt8] = []
    var error: RequestError?

    init(room: Int) {
      self.room = room
    }

    func beginReading(isOver: Bool) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome { .blocked }
    func flush() -> StepOutcome { .done }
    func condition() -> Socket.Condition { .quiet }
    var hasEnded: Bool { false }
    func close() {}

    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
      if let error { return .failed(error) }
      if room == 0 { return .blocked }
      let count = min(room, first.count)
      room -= count
      sent += first.prefix(count)
      return .taken(count)
    }

    /// The frames that were sent.
    var parsed: [(opcode: UInt8, isFinal: Bool, payload: [UInt8])] {
      var (frames, rest) = ([(opcode: UInt8, isFinal: Bool, payload: [UInt8])](), sent[...])
      while let first = rest.popFirst(), let second = rest.popFirst() {
        let more = second & 0x7F == 126 ? 2 : second & 0x7F == 127 ? 8 : 0
        let size = more == 0 ? Int(second & 0x7F) : rest.prefix(more).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(more)
        let key = Array(rest.prefix(4))
        let payload = rest.dropFirst(4).prefix(size).enumerated().map { $1 ^ key[$0 & 3] }
        frames.append((first & 0xF, first & 0x80 != 0, payload))
        rest = rest.dropFirst(4 + size)
      }
      return frames
    }

    /// The opcodes and sizes of the frames that were sent.
    var frames: [String] {
      var (frames, rest) = ([String](), sent[...])
      while let first = rest.first {
        let size = Int(rest[rest.startIndex + 1] & 0x7F)
        frames.append("\(first & 0xF):\(size)")
        rest = rest.dropFirst(6 + size)
      }
      return frames
    }
  }

  private func output(
    _ channel: FakeChannel, limit: Int = 100, compression: CompressionAgreement? = nil
  ) throws -> WebSocketOutput {
    let loop = EventLoop(poller: try EpollPoller(), unfinished: DispatchGroup())
    return WebSocketOutput(channel, on: loop, limit: limit, compression: compression)
  }

  /// RFC 6455, section 5.5.3.
  @Test func `of the pongs that find no room, the latest are sent`() throws {
    let channel = FakeChannel(room: 3)
    var output = try output(channel)
    _ = try output.send(.text("12345"))
    for size in 1...100 { _ = output.sendPongs(Data(count: size)) }
    channel.room = 100_000
    _ = output.write()
    #expect(channel.frames == ["1:5"] + (101 - WebSocketOutput.mostPongs...100).map { "10:\($0)" })
  }

  @Test func `frames that are sent in pieces stay whole, and pongs go ahead of those that wait`() throws {
    let channel = FakeChannel(room: 1)
    var output = try output(channel)
    _ = try output.send(.text("one"))
    _ = try output.ping(Data(count: 2))
    _ = output.sendPongs(Data(count: 7))
    _ = output.close(WebSocketClosure(code: .normal))
    for _ in 0..<100 {
      channel.room += 1
      _ = output.write()
    }
    #expect(channel.frames == ["1:3", "9:2", "10:7", "8:2"] || channel.frames == ["1:3", "10:7", "9:2", "8:2"])
  }

  @Test func `a ping of this side's own needs no room, goes ahead of what waits, and never behind a close`() throws {
    let channel = FakeChannel(room: 1)
    var output = try output(channel, limit: 20)
    _ = try output.send(.text("one"))
    _ = try output.send(.binary(Data(count: 12)))
    _ = output.pingAhead()
    channel.room = .max
    _ = output.write()
    #expect(channel.frames == ["1:3", "9:0", "2:12"])
    channel.room = 0
    _ = output.pingAhead()
    _ = output.close(WebSocketClosure(code: .normal))
    _ = output.pingAhead()
    channel.room = .max
    _ = output.write()
    #expect(channel.frames == ["1:3", "9:0", "2:12", "9:0", "8:2"])
  }

  @Test func `a large message is sent in parts, between which pongs go out`() throws {
    let channel = FakeChannel(room: 300 << 10)
    var output = try output(channel, limit: 8 << 20)
    let message = WebSocketMessage.binary(Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
    guard case .framing(let framing) = try output.send(message) else {
      return try #require(Bool(false), "it was made to frames under the lock")
    }
    var outcome = try output.send(framing.frames(of: message), of: message.size)
    while case .more = outcome { outcome = output.write() }
    _ = output.sendPongs(Data("ping".utf8))
    channel.room = .max
    repeat { outcome = output.write() } while outcome == .more
    let frames = channel.parsed
    #expect(frames.map(\.opcode) == [2, 0, 10, 0, 0])
    #expect(frames.map(\.isFinal) == [false, false, true, false, true])
    guard case .binary(let data) = message else { return }
    #expect(frames.filter { $0.opcode != 10 }.flatMap(\.payload) == Array(data))
  }

  @Test func `what is compressed is not compressed under the lock, and the lock is free after each part`() throws {
    let channel = FakeChannel(room: .max)
    var output = try output(channel, limit: 8 << 20, compression: CompressionAgreement(serverKeepsContext: false))
    let message = WebSocketMessage.text(String(repeating: "abc", count: 100))
    guard case .framing(let framing) = try output.send(message) else {
      return try #require(Bool(false), "it was compressed under the lock")
    }
    _ = try output.send(framing.frames(of: message), of: message.size)
    #expect(channel.sent.count < 100)
    #expect(channel.sent[0] == 0xC1)
    let large = WebSocketMessage.binary(Data((0..<500_000).map { _ in UInt8.random(in: .min ... .max) }))
    guard case .framing(let more) = try output.send(large) else { return }
    let before = channel.sent.count
    #expect(try output.send(more.frames(of: large), of: large.size) == .more)
    #expect(channel.sent.count - before <= 64 << 10)
  }

  @Test(arguments: [8, 9, 10, 12, 15])
  func `what is compressed refers back no further than the server allows`(window: Int) throws {
    let channel = FakeChannel(room: .max)
    var output = try output(
      channel, limit: 8 << 20, compression: CompressionAgreement(serverKeepsContext: false, clientWindow: window))
    // Random letters that come again after 700 bytes.
    var random = SplitMix(seed: 1)
    let block = (0..<700).map { _ in 97 + UInt8(random.next() >> 60) }
    let text = block + block + block + block
    let message = WebSocketMessage.text(String(decoding: text, as: UTF8.self))
    guard case .framing(let framing) = try output.send(message) else {
      return try #require(Bool(false), "it was not compressed")
    }
    _ = try output.send(framing.frames(of: message), of: message.size)
    let frame = try #require(channel.parsed.first)
    guard window >= 9 else {
      #expect(frame.payload == text)
      return
    }
    #expect(try inflated(frame.payload + [0x00, 0x00, 0xFF, 0xFF], window: window) == text)
    #expect((frame.payload.count < 700) == (window >= 10))
  }

  /// Decompresses with no larger window than this.
  private func inflated(_ bytes: [UInt8], window: Int) throws -> [UInt8] {
    let library = try #require(ZLibrary.shared)
    let stream = UnsafeMutablePointer<ZStream>.allocate(capacity: 1)
    stream.initialize(to: ZStream())
    defer { stream.deallocate() }
    let size = CInt(MemoryLayout<ZStream>.size)
    try #require(library.inflateInit2(stream, CInt(-window), library.version(), size) == ZStatus.ok)
    defer { _ = library.inflateEnd(stream) }
    return try bytes.withUnsafeBufferPointer { input in
      try [UInt8](unsafeUninitializedCapacity: 1 << 16) { output, count in
        stream.pointee.nextIn = input.baseAddress
        stream.pointee.availableIn = CUnsignedInt(input.count)
        stream.pointee.nextOut = output.baseAddress
        stream.pointee.availableOut = CUnsignedInt(output.count)
        try #require(library.inflate(stream, 0) == ZStatus.ok)
        count = output.count - Int(stream.pointee.availableOut)
      }
    }
  }

  @Test func `nothing is accepted beyond the limit, except a single message and a close`() throws {
    let channel = FakeChannel(room: 0)
    var output = try output(channel, limit: 20)
    _ = try output.send(.binary(Data(count: 50)))
    #expect(kind { output throws(RequestError) in _ = try output.send(.text("a")) } == .overloaded)
    #expect(kind { output throws(RequestError) in _ = try output.ping(Data()) } == .overloaded)
    func kind(_ body: (inout WebSocketOutput) throws(RequestError) -> Void) -> RequestError.Kind? {
      do throws(RequestError) {
        try body(&output)
        return nil
      } catch {
        return error.kind
      }
    }
    _ = output.close(WebSocketClosure(code: .normal))
    channel.room = 1000
    _ = output.write()
    #expect(channel.frames == ["2:50", "8:2"])
  }

  @Test func `after a close, messages are refused and pongs dropped`() throws {
    let channel = FakeChannel(room: 1000)
    var output = try output(channel)
    output.closeLater(WebSocketClosure(code: .protocolError))
    _ = output.close(WebSocketClosure(code: .normal))
    _ = output.close(WebSocketClosure(code: .goingAway))
    _ = output.closeIfPending()
    _ = output.sendPongs(Data())
    do throws(RequestError) {
      _ = try output.send(.text("a"))
      Issue.record("It was accepted.")
    } catch {
      #expect(error.kind == .connectionLost)
    }
    #expect(channel.frames == ["8:2"])
  }

  @Test func `what was read before the socket broke is delivered, and then the error`() throws {
    let channel = FakeChannel(room: 0)
    var output = try output(channel)
    channel.error = RequestError(.connectionLost, "It broke.")
    guard case .sent(.broken) = try output.send(.text("a")) else {
      Issue.record("It did not break.")
      return
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
    defer { buffer.deallocate() }
    guard case .failed(let error) = output.read(into: buffer) else {
      Issue.record("It did not fail.")
      return
    }
    #expect(error.kind == .connectionLost)
  }
}

extension WebSocketOutput {
  fileprivate mutating func sendPongs(_ payload: Data) -> Outcome {
    var payloads = Fifo<Data>()
    payloads.append(payload)
    return sendPongs(payloads)
  }
}
