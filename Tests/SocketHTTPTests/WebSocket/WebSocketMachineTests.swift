import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct WebSocketMachineTests {
  private var machine = WebSocketMachine(limit: 1000)

  private func effects(of bytes: [UInt8], on machine: inout WebSocketMachine) -> WebSocketMachine.Effects {
    var effects = WebSocketMachine.Effects()
    bytes.withUnsafeBytes { machine.receive($0, into: &effects) }
    return effects
  }

  private func failure(_ effects: WebSocketMachine.Effects) -> RequestError? {
    if case .failed(let error)? = effects.end { error } else { nil }
  }

  private func closure(_ effects: WebSocketMachine.Effects) -> WebSocketClosure? {
    if case .closed(let closure)? = effects.end { closure } else { nil }
  }

  /// RFC 6455, section 5.5.3.
  @Test func `all pings that come together are answered, up to a limit the latest`() {
    var machine = machine
    var effects = effects(of: ServerFrame.ping("1") + ServerFrame.text("a") + ServerFrame.ping("2"), on: &machine)
    #expect(effects.takePongs() == ["1", "2"])
    #expect(effects.events.count == 1)
    #expect(effects.end == nil)
    #expect(effects.close == nil)
    effects = self.effects(of: (0..<1000).flatMap { ServerFrame.ping("\($0)") }, on: &machine)
    #expect(effects.takePongs() == (1000 - WebSocketOutput.mostPongs..<1000).map { "\($0)" })
  }

  /// What waits is counted after decompression.
  @Test func `W2: of compressed messages that come together, no more are decompressed than there is room for`() throws {
    let text = [UInt8](repeating: 97, count: 3 << 20)
    var machine = WebSocketMachine(limit: 4 << 20, compression: CompressionAgreement(serverKeepsContext: false))
    let bytes = try (0..<4).flatMap { _ in try ServerFrame.compressed(text) } + ServerFrame.text("last")
    #expect(bytes.count < 64 << 10)
    var effects = WebSocketMachine.Effects()
    bytes.withUnsafeBytes { machine.receive($0, room: 1 << 20, into: &effects) }
    #expect(effects.size < 4 << 20)
    var count = effects.events.count
    var turns = 0
    while machine.hasUnread, turns < 100 {
      effects = WebSocketMachine.Effects()
      machine.readOn(room: 1 << 20, into: &effects)
      #expect(effects.size < 4 << 20)
      count += effects.events.count
      turns += 1
    }
    #expect(count == 5)
  }

  /// Others have their turn meanwhile.
  @Test func `a message is decompressed in several turns`() throws {
    let text = [UInt8](repeating: 97, count: 30 << 20)
    var machine = WebSocketMachine(limit: 64 << 20, compression: CompressionAgreement(serverKeepsContext: false))
    let bytes = try ServerFrame.compressed(text)
    var effects = WebSocketMachine.Effects()
    bytes.withUnsafeBytes { machine.receive($0, into: &effects) }
    var turns = 1
    while machine.hasUnread, turns < 100 {
      #expect(effects.events.isEmpty)
      #expect(effects.hasUnread)
      machine.readOn(room: .max, into: &effects)
      turns += 1
    }
    #expect(effects.size == WebSocketEvent.message(.text(String(decoding: text, as: UTF8.self))).size)
    #expect(turns >= 5)
  }

  /// A frame costs by itself, whatever it carries.
  @Test(arguments: WebSocketFloodTests.Flood.allCases)
  func `T6: of frames that come together, a turn reads so many at most`(flood: WebSocketFloodTests.Flood) {
    guard flood != .afterClose else { return }
    var machine = WebSocketMachine(limit: 1 << 20, compression: CompressionAgreement(serverKeepsContext: false))
    let count = 10_000
    var effects = effects(
      of: flood.beginning + Array(repeatElement(flood.rest, count: count).joined()), on: &machine)
    var turns = 1
    while machine.hasUnread, turns < count {
      #expect(effects.events.count <= 5_000)
      effects = WebSocketMachine.Effects()
      machine.readOn(room: .max, into: &effects)
      turns += 1
    }
    #expect(turns >= count / 5_000)
    #expect(turns <= count / 500)
  }

  @Test(arguments: [0, 1]) func `W2: an empty last frame ends a message that was decompressed in the turn before`(
    emptyFrames: Int
  ) throws {
    let text = [UInt8](repeating: 97, count: 2 << 20)
    let payload = try #require(text.withUnsafeBytes { MessageDeflater.deflate($0) })
    #expect(payload.count < MessageInflater.largestInput)
    var bytes = ServerFrame.bytes(1, payload, isFinal: false, reserved: 4)
    for _ in 0..<emptyFrames { bytes += ServerFrame.continuation([], isFinal: false) }
    bytes += ServerFrame.continuation([])
    var machine = WebSocketMachine(limit: 4 << 20, compression: CompressionAgreement(serverKeepsContext: false))
    var effects = effects(of: bytes, on: &machine)
    while machine.hasUnread { machine.readOn(room: .max, into: &effects) }
    #expect(effects.events.count == 1)
    #expect(effects.end == nil)
  }

  @Test(arguments: [1000, 1001, 1011, 4000])
  func `the server's close is answered with its code, and nothing that follows is read`(code: UInt16) {
    var machine = machine
    let bytes = ServerFrame.text("a") + ServerFrame.close(code, "bye") + ServerFrame.text("b")
    let effects = effects(of: bytes, on: &machine)
    #expect(effects.events.count == 1)
    #expect(effects.close == WebSocketClosure(code: WebSocketCloseCode(code)))
    #expect(closure(effects) == WebSocketClosure(code: WebSocketCloseCode(code), reason: "bye"))
    #expect(self.effects(of: ServerFrame.text("c") + ServerFrame.ping(), on: &machine).events.isEmpty)
  }

  @Test func `a close without a code is answered without one`() {
    var machine = machine
    let effects = effects(of: ServerFrame.bytes(8), on: &machine)
    #expect(effects.close?.payload == [])
    #expect(closure(effects) == WebSocketClosure(code: .noStatus))
  }

  @Test func `messages still come after this side's close, pings are not answered, and the server's close ends it`() {
    var machine = machine
    let (first, second) = (machine.didSendClose(), machine.didSendClose())
    #expect(first)
    #expect(!second)
    var effects = effects(of: ServerFrame.text("late") + ServerFrame.ping(), on: &machine)
    #expect(effects.events.count == 1)
    #expect(effects.pongs.isEmpty)
    effects = self.effects(of: ServerFrame.close(1000), on: &machine)
    #expect(closure(effects) == WebSocketClosure(code: .normal))
  }

  @Test func `a connection that is lost is an error, unless this side had begun to close`() {
    var (lost, closing) = (machine, machine)
    var effects = WebSocketMachine.Effects()
    lost.didLose(.cut("here"), into: &effects)
    #expect(failure(effects)?.kind == .connectionLost)
    _ = closing.didSendClose()
    closing.didLose(.cut("here"), into: &effects)
    #expect(closure(effects)?.code == .abnormal)
  }

  @Test func `a connection ends once`() {
    var machine = machine
    _ = effects(of: ServerFrame.close(1000), on: &machine)
    var effects = WebSocketMachine.Effects()
    machine.didLose(.cut("here"), into: &effects)
    #expect(effects.end == nil)
  }

  @Test(arguments: WebSocketReaderTests.violations)
  func `a violation is reported to the server with its code, and is an error for the observer`(
    name: String, bytes: [UInt8], code: WebSocketCloseCode
  ) {
    var machine = machine
    let effects = effects(of: ServerFrame.text("before") + bytes, on: &machine)
    #expect(effects.events.count >= 1)
    #expect(effects.close?.code == code)
    #expect((effects.close?.payload.count ?? 126) <= 125)
    #expect(failure(effects)?.kind == (code == .tooLarge ? .tooLarge : .badResponse))
    guard case .violation(code)? = failure(effects)?.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: failure(effects)))")
      return
    }
  }
}

extension WebSocketMachine.Effects {
  fileprivate mutating func takePongs() -> [String] {
    var texts: [String] = []
    while let payload = pongs.popFirst() { texts.append(String(decoding: payload, as: UTF8.self)) }
    return texts
  }
}

@Suite struct FrameWriterTests {
  /// Undoes what a client does.
  private func unmasked(_ frame: [UInt8]) -> (head: [UInt8], payload: [UInt8]) {
    let size = frame[1] & 0x7F == 126 ? 4 : frame[1] & 0x7F == 127 ? 10 : 2
    let key = frame[size..<size + 4]
    let payload = frame[(size + 4)...].enumerated().map { $1 ^ key[size + $0 % 4] }
    return (Array(frame[..<size]), payload)
  }

  /// RFC 6455, section 5.7.
  @Test func `the masked frame of the RFC's example is written`() {
    var bytes: [UInt8] = []
    let key: UInt32 = 0x3D21_FA37
    Array("Hello".utf8).withUnsafeBytes { FrameWriter.write(.text, $0, key: key, to: &bytes) }
    #expect(bytes == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
  }

  @Test(arguments: Array(0...40) + [125, 126, 127, 65_535, 65_536, 100_003])
  func `a frame of any size is masked whole`(size: Int) {
    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var (keys, bytes) = (MaskingKeys(), [UInt8]())
    payload.withUnsafeBytes { FrameWriter.write(.binary, $0, key: keys.next(), to: &bytes) }
    let (head, read) = unmasked(bytes)
    #expect(read == payload)
    #expect(head[0] == 0x82)
    #expect(head[1] & 0x80 != 0)
    #expect(head[1] & 0x7F == (size <= 125 ? UInt8(size) : size <= 65_535 ? 126 : 127))
  }

  @Test func `each frame has a key of its own`() {
    var keys = MaskingKeys()
    #expect(Set((0..<1000).map { _ in keys.next() }).count > 990)
  }
}

@Suite struct HeartbeatTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  /// What it does at each of these seconds, if the last sign of life came at the other.
  private func steps(_ looks: [(now: Int, lastSign: Int)]) -> [Heartbeat.Step] {
    var heartbeat = Heartbeat(after: .seconds(30), patience: .seconds(10))
    return looks.map { heartbeat.look(at: start + .seconds($0.now), lastSign: start + .seconds($0.lastSign)) }
  }

  private func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }

  @Test func `a ping is sent after silence, and a server that answers it stays connected`() {
    #expect(
      steps([(0, 0), (30, 5), (35, 5), (45, 36), (66, 36)])
        == [
          .wait(until: at(30)), .wait(until: at(35)), .ping(until: at(45)), .wait(until: at(66)), .ping(until: at(76)),
        ])
  }

  @Test func `a server that does not answer a ping is dropped`() {
    #expect(steps([(30, 0), (39, 0), (40, 0)]) == [.ping(until: at(40)), .wait(until: at(40)), .lost])
  }

  @Test func `the time of a close begins again as long as what is queued is sent`() {
    var patience = ClosePatience(.seconds(5), at: at(0), unsent: 1 << 20)
    let first = [patience.look(at: at(0), unsent: 1 << 20), patience.look(at: at(5), unsent: 15 << 16)]
    #expect(first == [at(5), at(10)])
    var slow = patience
    let last = slow.look(at: at(10), unsent: (15 << 16) - 1000)
    #expect(last == nil)
    let next = [patience.look(at: at(10), unsent: 0), patience.look(at: at(15), unsent: 0)]
    #expect(next == [at(15), nil])
  }

  @Test func `the time of a close does not pass in a pause of reading, up to a minute in all`() {
    var patience = ClosePatience(.seconds(5), at: at(0), unsent: 0)
    patience.pause(at: at(1))
    patience.pause(at: at(2))
    var looks = [patience.look(at: at(5), unsent: 0)]
    let hasPaused = [patience.resume(at: at(31)), patience.resume(at: at(32))]
    #expect(hasPaused == [true, false])
    looks.append(patience.look(at: at(32), unsent: 0))
    patience.pause(at: at(33))
    looks += [patience.look(at: at(35), unsent: 0), patience.look(at: at(65), unsent: 0)]
    _ = patience.resume(at: at(100))
    looks.append(patience.look(at: at(100), unsent: 0))
    #expect(looks == [at(65), at(35), at(65), nil, nil])
  }
}
