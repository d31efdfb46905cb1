import Foundation
import HTTPClientCore
import TestSupport
import Testing

@testable import SocketHTTP

/// How a session's records fit into what comes from and goes to a socket, which knows none.
struct TLSRecordTests {
  let world: TLSWorld

  init() throws {
    world = try TLSWorld.shared.get()
  }

  static let versions: [TLSServerSettings.Version] = [.tls12, .tls13]

  /// A pair whose handshake is done, and the server's tickets read.
  func established(_ version: TLSServerSettings.Version) throws -> TLSPair {
    let pair = try world.pair(nil, version)
    try #require(try pair.shake(), "\(String(describing: pair.clientError))")
    _ = try pair.answer()
    return pair
  }

  /// The records that a server makes of these texts.
  func records(_ texts: String..., from server: TLSServerEngine) throws -> Data {
    for text in texts { try server.write(Data(text.utf8)) }
    return try server.takeOutgoing()
  }

  @Test(arguments: versions)
  func `records are read wherever they are cut`(version: TLSServerSettings.Version) throws {
    let pair = try established(version)
    var (cut, size) = (0, Int.max)
    while cut <= size {
      let bytes = try records("one", "and another", "third", from: pair.server)
      size = bytes.count
      var text = Data()
      for part in [bytes.prefix(cut), bytes.dropFirst(cut)] {
        pair.client.receive(Data(part))
        #expect(try pair.client.readAll(into: &text) == .needsMore)
      }
      #expect(text == Data("oneand anotherthird".utf8), "cut at \(cut)")
      cut += 1
    }
    #expect(size > 3 * 5)
  }

  @Test(arguments: versions, [1, 7, 16_384, 16_385])
  func `several records that came at once wait for a small buffer`(version: TLSServerSettings.Version, room: Int) throws
  {
    let pair = try established(version)
    let text = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
    try pair.server.write(text)
    pair.client.receive(try pair.server.takeOutgoing())
    var answer = Data()
    #expect(try pair.client.readAll(into: &answer, room: room) == .needsMore)
    #expect(answer == text)
  }

  @Test(arguments: versions)
  func `all records that have arrived are read at once where there is room`(version: TLSServerSettings.Version) throws {
    let pair = try established(version)
    pair.client.receive(try records("one", "and another", from: pair.server))
    var text = Data()
    #expect(try pair.client.readOnce(into: &text) == .bytes(14))
    #expect(text == Data("oneand another".utf8))
    #expect(try pair.client.readOnce(into: &text) == .needsMore)
  }

  /// Each costs by itself, whatever it carries.
  @Test(arguments: versions)
  func `T6: of records with a single byte, a read takes so many at most`(version: TLSServerSettings.Version) throws {
    let pair = try established(version)
    for _ in 0..<1000 { try pair.server.write(Data("a".utf8)) }
    pair.client.receive(try pair.server.takeOutgoing())
    var text = Data()
    #expect(try pair.client.readOnce(into: &text) == .bytes(64))
    #expect(try pair.client.readAll(into: &text) == .needsMore)
    #expect(text == Data(repeating: 97, count: 1000))
  }

  @Test(arguments: versions)
  func `an end that came with bytes is reported after them`(version: TLSServerSettings.Version) throws {
    let pair = try established(version)
    try pair.server.write(Data("last".utf8))
    try pair.server.close()
    pair.client.receive(try pair.server.takeOutgoing())
    pair.client.receiveEnd()
    var text = Data()
    #expect(try pair.client.readOnce(into: &text) == .bytes(4))
    #expect(try pair.client.readOnce(into: &text) == .closed)
    #expect(try pair.client.readOnce(into: &text) == .closed)
  }

  @Test(arguments: versions)
  func `a cut that came with bytes is reported after them`(version: TLSServerSettings.Version) throws {
    for cut in [0, 1, 5, 6] {
      let pair = try established(version)
      pair.client.receive(try records("first", from: pair.server))
      pair.client.receive(try records("second", from: pair.server).prefix(cut))
      pair.client.receiveEnd()
      var text = Data()
      #expect(try pair.client.readOnce(into: &text) == .bytes(5))
      #expect(try pair.client.readOnce(into: &text) == .truncated)
      #expect(try pair.client.readOnce(into: &text) == .truncated)
    }
  }

  @Test(arguments: versions)
  func `a forged record that came with bytes is reported after them`(version: TLSServerSettings.Version) throws {
    let pair = try established(version)
    pair.client.receive(try records("first", from: pair.server))
    var forged = try records("second", from: pair.server)
    forged[forged.count - 1] ^= 1
    pair.client.receive(forged)
    var text = Data()
    #expect(try pair.client.readOnce(into: &text) == .bytes(5))
    for _ in 0..<2 {
      let error = #expect(throws: RequestError.self) { try pair.client.readOnce(into: &text) }
      #expect(error?.kind == .insecure)
    }
    #expect(text == Data("first".utf8))
  }

  @Test(arguments: versions, [1, 1000, 20_000])
  func `a socket that takes a part at a time gets everything in order`(version: TLSServerSettings.Version, part: Int)
    throws
  {
    let pair = try established(version)
    let text = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
    var sent = Data()
    func send() {
      pair.client.sendOutgoing { bytes in
        sent += bytes.prefix(part)
        return min(part, bytes.count)
      }
    }
    try pair.client.write(text)
    send()
    pair.client.sendOutgoing { _ in 0 }
    try pair.client.write(text)
    while pair.client.outgoingCount > 0 { send() }
    pair.client.sendOutgoing { _ in
      Issue.record("there is nothing to send")
      return 0
    }
    try pair.server.receive(sent)
    #expect(try pair.send() == text + text)
  }
}
