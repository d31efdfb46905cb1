import Foundation
import HTTP
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
    func close() {}

    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
      if let error { return .failed(error) }
      if room == 0 { return .blocked }
      let count = min(room, first.count)
      room -= count
      sent += first.prefix(count)
      return .taken(count)
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

  private func output(_ channel: FakeChannel, limit: Int = 100) throws -> WebSocketOutput {
    let loop = EventLoop(poller: try EpollPoller(), unfinished: DispatchGroup())
    return WebSocketOutput(channel, on: loop, limit: limit, compresses: false)
  }

  /// RFC 6455, section 5.5.3.
  @Test func `of the pongs that find no room, only the latest is sent`() throws {
    let channel = FakeChannel(room: 3)
    var output = try output(channel)
    _ = try output.perform(.send(.text("12345")))
    for size in 1...100 { _ = output.sendPong(Data(count: size)) }
    channel.room = 1000
    _ = output.write()
    #expect(channel.frames == ["1:5", "10:100"])
  }

  @Test func `frames that are sent in pieces stay whole, and in order`() throws {
    let channel = FakeChannel(room: 0)
    var output = try output(channel)
    _ = try output.perform(.send(.text("one")))
    _ = try output.perform(.ping(Data(count: 2)))
    _ = output.sendPong(Data(count: 7))
    _ = output.close(WebSocketClosure(code: .normal))
    for _ in 0..<100 {
      channel.room += 1
      _ = output.write()
    }
    #expect(channel.frames == ["1:3", "9:2", "8:2"])
  }

  @Test func `nothing is accepted beyond the limit, except a single message and a close`() throws {
    let channel = FakeChannel(room: 0)
    var output = try output(channel, limit: 20)
    _ = try output.perform(.send(.binary(Data(count: 50))))
    for command in [.send(.text("a")), .ping(Data())] as [WebSocketConnection.Command] {
      let kind: RequestError.Kind?
      do throws(RequestError) {
        _ = try output.perform(command)
        kind = nil
      } catch {
        kind = error.kind
      }
      #expect(kind == .overloaded)
    }
    _ = try output.perform(.close(WebSocketClosure(code: .normal)))
    channel.room = 1000
    _ = output.write()
    #expect(channel.frames == ["2:50", "8:2"])
  }

  @Test func `after a close, messages are refused and pongs dropped`() throws {
    let channel = FakeChannel(room: 1000)
    var output = try output(channel)
    _ = output.close(WebSocketClosure(code: .normal))
    _ = output.close(WebSocketClosure(code: .goingAway))
    _ = output.sendPong(Data())
    do throws(RequestError) {
      _ = try output.perform(.send(.text("a")))
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
    guard case .broken = try output.perform(.send(.text("a"))) else {
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
