import Foundation
import HTTPClientCore
import TestSupport
import Testing

@testable import SocketHTTP

@Suite struct WebSocketReaderTests {
  /// RFC 6455, section 5.7.
  @Test func `the frames of the RFC's examples are read`() {
    let hello: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
    #expect(WebSocketReader.read(hello).items == [.message(.text("Hello"))])
    let fragments: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]
    #expect(WebSocketReader.read(fragments).items == [.message(.text("Hello"))])
    let ping: [UInt8] = [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
    #expect(WebSocketReader.read(ping).items == [.ping(Data("Hello".utf8))])
    let large = [UInt8](repeating: 7, count: 256)
    #expect(WebSocketReader.read([0x82, 0x7E, 0x01, 0x00] + large).items == [.message(.binary(Data(large)))])
    let larger = [UInt8](repeating: 7, count: 65_536)
    #expect(
      WebSocketReader.read([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + larger).items == [.message(.binary(Data(larger)))])
  }

  /// RFC 7692, section 7.2.3: what is sent, and the text that it stands for.
  @Test(
    arguments: [
      ([0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], ["Hello"]),
      ([0x41, 0x03, 0xF2, 0x48, 0xCD, 0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00], ["Hello"]),
      // The second message refers to the first.
      (
        [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00],
        ["Hello", "Hello"]
      ),
      // A block without compression.
      ([0xC1, 0x0B, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], ["Hello"]),
      // A block with BFINAL set.
      ([0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], ["Hello"]),
      // Two blocks in one message.
      ([0xC1, 0x0D, 0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], ["Hello"]),
      // An uncompressed message in between.
      ([0x81, 0x01, 0x61, 0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], ["a", "Hello"]),
    ] as [([UInt8], [String])])
  func `the compressed frames of the RFC's examples are read, however they are split`(bytes: [UInt8], texts: [String]) {
    for size in 1...bytes.count {
      let read = WebSocketReader.read(bytes, pieces: size, compression: CompressionAgreement(serverKeepsContext: true))
      #expect(read.violation == nil)
      #expect(read.items == texts.map { .message(.text($0)) })
    }
  }

  /// Every kind of frame, control frames between fragments, empty frames, and characters that fragments cut.
  private static let conversation: [UInt8] =
    ServerFrame.text("ångström 🎉") + ServerFrame.ping("one") + ServerFrame.text("") + ServerFrame.pong()
    + ServerFrame.bytes(1, [0xF0, 0x9F], isFinal: false) + ServerFrame.ping("two")
    + ServerFrame.continuation([], isFinal: false) + ServerFrame.continuation([0x8E, 0x89])
    + ServerFrame.binary([1, 2, 3], isFinal: false) + ServerFrame.continuation([])
    + ServerFrame.binary([UInt8](repeating: 9, count: 300)) + ServerFrame.close(1000, "bye")

  @Test func `W1: a conversation gives the same items however its bytes are split`() {
    let whole = WebSocketReader.read(Self.conversation)
    #expect(whole.violation == nil)
    #expect(
      whole.items == [
        .message(.text("ångström 🎉")), .ping(Data("one".utf8)), .message(.text("")), .pong(Data()),
        .ping(Data("two".utf8)), .message(.text("🎉")), .message(.binary(Data([1, 2, 3]))),
        .message(.binary(Data(repeating: 9, count: 300))),
        .close(WebSocketClosure(code: .normal, reason: "bye")),
      ])
    for size in 1..<Self.conversation.count {
      #expect(WebSocketReader.read(Self.conversation, pieces: size).items == whole.items)
    }
  }

  @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
  func `a message of any size is read, whole or in fragments`(size: Int) {
    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let expected: [WebSocketReader.Item] = [.message(.binary(Data(payload)))]
    #expect(WebSocketReader.read(ServerFrame.binary(payload)).items == expected)
    let half = size / 2
    let fragments = ServerFrame.binary(payload[..<half], isFinal: false) + ServerFrame.continuation(payload[half...])
    #expect(WebSocketReader.read(fragments, pieces: 1000).items == expected)
  }

  /// What a server must not send, and the code with which it is refused.
  static let violations: [(name: String, bytes: [UInt8], code: WebSocketCloseCode)] =
    [
      ("a masked frame", ServerFrame.bytes(1, [], isMasked: true), .protocolError),
      ("the first reserved bit", ServerFrame.bytes(1, [], reserved: 4), .protocolError),
      ("the second reserved bit", ServerFrame.bytes(1, [], reserved: 2), .protocolError),
      ("the third reserved bit", ServerFrame.bytes(1, [], reserved: 1), .protocolError),
      ("the first reserved bit of a ping", ServerFrame.bytes(9, [], reserved: 4), .protocolError),
      ("a fragmented ping", ServerFrame.bytes(9, [], isFinal: false), .protocolError),
      ("a fragmented pong", ServerFrame.bytes(10, [], isFinal: false), .protocolError),
      ("a fragmented close", ServerFrame.bytes(8, [], isFinal: false), .protocolError),
      ("a ping of 126 bytes", ServerFrame.bytes(9, [UInt8](repeating: 0, count: 126)), .protocolError),
      ("a close of 126 bytes", ServerFrame.bytes(8, [UInt8](repeating: 0, count: 126)), .protocolError),
      ("a continuation of nothing", ServerFrame.continuation([]), .protocolError),
      ("a continuation behind a whole message", ServerFrame.text("a") + ServerFrame.continuation([]), .protocolError),
      ("a message within a message", ServerFrame.text("a", isFinal: false) + ServerFrame.text("b"), .protocolError),
      ("2 bytes for a length of 125", ServerFrame.bytes(2, [], length: [126, 0, 125]), .protocolError),
      (
        "8 bytes for a length of 65535", ServerFrame.bytes(2, [], length: [127, 0, 0, 0, 0, 0, 0, 255, 255]),
        .protocolError
      ),
      (
        "a length with its highest bit set", ServerFrame.bytes(2, [], length: [127, 128, 0, 0, 0, 0, 0, 0, 0]),
        .protocolError
      ),
      ("a close of one byte", ServerFrame.bytes(8, [3]), .protocolError),
      ("a close whose reason is not UTF-8", ServerFrame.bytes(8, [3, 0xE8, 0xC3, 0x28]), .invalidData),
      ("a close whose reason ends within a character", ServerFrame.bytes(8, [3, 0xE8, 0xC3]), .invalidData),
      ("a text that is not UTF-8", ServerFrame.bytes(1, [0x61, 0xC3, 0x28]), .invalidData),
      ("a text that ends within a character", ServerFrame.bytes(1, [0x61, 0xE2, 0x82]), .invalidData),
      (
        "a text whose second fragment is not UTF-8",
        ServerFrame.bytes(1, [0xE2], isFinal: false) + ServerFrame.continuation([0x61]), .invalidData
      ),
      ("a message over the limit", ServerFrame.binary([UInt8](repeating: 0, count: 1001)), .tooLarge),
      (
        "fragments over the limit",
        ServerFrame.binary([UInt8](repeating: 0, count: 1000), isFinal: false) + ServerFrame.continuation([0]),
        .tooLarge
      ),
      (
        "an announced message over the limit", ServerFrame.bytes(2, [], length: [127, 0, 0, 0, 9, 0, 0, 0, 0]),
        .tooLarge
      ),
    ]
    + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map {
      ("the reserved opcode \($0)", ServerFrame.bytes($0), .protocolError)
    }
    + [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535].map {
      ("a close with the code \($0)", ServerFrame.close($0), .protocolError)
    }

  @Test(arguments: violations)
  func `W1: a violation is refused with its code, however its bytes are split, and what came before it is kept`(
    name: String, bytes: [UInt8], code: WebSocketCloseCode
  ) {
    let bytes = ServerFrame.text("before") + bytes
    for size in 1...min(bytes.count, 40) {
      let read = WebSocketReader.read(bytes, pieces: size, limit: 1000)
      #expect(read.violation?.code == code)
      #expect(read.items.first == .message(.text("before")))
    }
  }

  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999])
  func `a close with a code that may be sent is read`(code: UInt16) {
    let closure = WebSocketClosure(code: WebSocketCloseCode(code), reason: "because")
    #expect(WebSocketReader.read(ServerFrame.close(code, "because")).items == [.close(closure)])
  }

  @Test func `a close without a code is read as one`() {
    #expect(WebSocketReader.read(ServerFrame.bytes(8)).items == [.close(WebSocketClosure(code: .noStatus))])
  }

  /// RFC 6455, section 8.1: the connection need not wait for the rest of the message.
  @Test func `a text that is not UTF-8 is refused at the first wrong byte`() {
    let head = ServerFrame.bytes(1, [], length: [126, 1, 0])
    #expect(WebSocketReader.read(head + [0xF4]).violation == nil)
    #expect(WebSocketReader.read(head + [0xF4, 0x90]).violation?.code == .invalidData)
  }

  @Test func `W2: a message over the limit is refused before it arrives`() {
    #expect(
      WebSocketReader.read(ServerFrame.bytes(2, [], length: [126, 3, 0xE9]), limit: 1000).violation?.code == .tooLarge)
  }

  @Test(arguments: [1, 7, 100, Int.max], [true, false])
  func `compressed messages are read in fragments of any size`(size: Int, keepsContext: Bool) throws {
    let texts = (0..<20).map { "message \($0): \(String(repeating: "ångström ", count: 50))" }
    let bytes = try texts.flatMap { try ServerFrame.compressed(Array($0.utf8), pieces: size) }
    let read = WebSocketReader.read(
      bytes, pieces: 333, compression: CompressionAgreement(serverKeepsContext: keepsContext))
    #expect(read.violation == nil)
    #expect(read.items == texts.map { .message(.text($0)) })
  }

  @Test func `W2: a compressed message over the limit is refused, and little of it is decompressed`() throws {
    let bytes = try ServerFrame.compressed([UInt8](repeating: 0x61, count: 10 << 20))
    #expect(bytes.count < 20_000)
    let agreement = CompressionAgreement(serverKeepsContext: false)
    #expect(WebSocketReader.read(bytes, limit: 1 << 20, compression: agreement).violation?.code == .tooLarge)
    #expect(WebSocketReader.read(bytes, limit: 10 << 20, compression: agreement).violation == nil)
  }

  /// RFC 7692, section 7.2.1: a message ends with a whole block, but for what is left out of the last one.
  @Test func `W1: a compressed message that is cut inside a block is refused, wherever it is cut`() throws {
    let words = (0..<400).map { "\($0 * $0 % 977) " }
    let text = Array(words.joined().utf8)
    let payload = try #require(text.withUnsafeBytes { MessageDeflater.deflate($0) })
    for keepsContext in [true, false] {
      let agreement = CompressionAgreement(serverKeepsContext: keepsContext)
      for count in 1..<payload.count {
        let frame = ServerFrame.bytes(2, payload[..<count], reserved: 4)
        let read = WebSocketReader.read(frame, compression: agreement)
        #expect(read.violation?.code == .invalidData, "\(count)")
        #expect(read.items.isEmpty, "\(count)")
      }
      let whole = ServerFrame.bytes(2, payload, reserved: 4)
      #expect(WebSocketReader.read(whole + whole, compression: agreement).items.count == 2)
    }
  }

  private static let endings: [(payload: [UInt8], text: String)] = [
    ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "Hello"),
    ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
    ([0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
    ([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], "Hello"),
    ([0x00], ""),
    ([], ""),
  ]

  /// RFC 7692, sections 7.2.3.5 and 7.2.3.6.
  @Test(arguments: endings)
  func `messages that end with a last block, and empty ones, are read`(payload: [UInt8], text: String) throws {
    let frames = ServerFrame.bytes(1, payload, reserved: 4)
    for keepsContext in [true, false] {
      let read = WebSocketReader.read(
        frames + frames, compression: CompressionAgreement(serverKeepsContext: keepsContext))
      #expect(read.items == [.message(.text(text)), .message(.text(text))])
    }
  }

  @Test(arguments: [
    ServerFrame.bytes(1, [0xFF, 0xFF, 0xFF], reserved: 4), ServerFrame.bytes(9, [], reserved: 4),
    ServerFrame.text("a", isFinal: false) + ServerFrame.bytes(0, [], reserved: 4),
    ServerFrame.bytes(1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0xC3, 0x28, 0x6C, 0x6F, 0x00], reserved: 4),
  ])
  func `compressed messages that are not valid are refused`(bytes: [UInt8]) {
    let read = WebSocketReader.read(bytes, compression: CompressionAgreement(serverKeepsContext: true))
    #expect(read.violation?.code == .invalidData || read.violation?.code == .protocolError)
    #expect(read.items.isEmpty)
  }
}

@Suite struct UTF8CheckerTests {
  private func accepts(_ bytes: [UInt8], pieces size: Int = .max) -> Bool {
    var (checker, rest) = (UTF8Checker(), bytes[...])
    while !rest.isEmpty {
      let piece = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      guard piece.withUnsafeBytes({ checker.accepts($0) }) else { return false }
    }
    return checker.isComplete
  }

  /// Every sequence of one and two bytes, and the interesting ones of three and four, against the standard library.
  @Test func `the UTF-8 checker agrees with the standard library about every short sequence, however it is split`() {
    let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    for first in UInt8.min ... .max {
      check([first])
      for second in UInt8.min ... .max { check([first, second]) }
      guard first >= 0xE0 else { continue }
      for second in edges {
        for third in edges {
          check([first, second, third])
          for fourth in edges { check([first, second, third, fourth]) }
        }
      }
    }
  }

  private func check(_ bytes: [UInt8]) {
    let expected = String(validating: bytes, as: UTF8.self) != nil
    let padded = Array("ten  bytes".utf8) + bytes + Array("and more of them".utf8)
    guard accepts(bytes) == expected, accepts(bytes, pieces: 1) == expected,
      accepts(padded) == (String(validating: padded, as: UTF8.self) != nil)
    else {
      Issue.record("\(bytes)")
      return
    }
  }
}
