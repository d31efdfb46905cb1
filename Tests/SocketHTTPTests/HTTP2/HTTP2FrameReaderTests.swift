import Foundation
import Testing

@testable import SocketHTTP

/// RFC 9113, sections 4 and 6: frames by themselves.
@Suite struct HTTP2FrameReaderTests {
  private static let conversation: [UInt8] =
    HTTP2ServerFrame.settings([(3, 7), (4, 1 << 20)]) + HTTP2ServerFrame.acknowledgement + HTTP2ServerFrame.ping(5)
    + HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, "hello") + HTTP2ServerFrame.padded(1, "padded", padding: 3)
    + HTTP2ServerFrame.padded(1, "", padding: 2) + HTTP2ServerFrame.frame(0xAA, 0xFF, 9, [1, 2, 3])
    + HTTP2ServerFrame.frame(0xAB)
    + HTTP2ServerFrame.frame(2, 0, 1, [0, 0, 0, 0, 9]) + HTTP2ServerFrame.windowUpdate(0, 100)
    + HTTP2ServerFrame.windowUpdate(1, 3)
    + HTTP2ServerFrame.frame(1, 1, 3, [0x88]) + HTTP2ServerFrame.frame(9, 0, 3)
    + HTTP2ServerFrame.frame(9, 4, 3, [0x82, 0x84])
    + HTTP2ServerFrame.frame(1, 0x2C, 5, [2, 0, 0, 0, 0, 16, 0x88, 0, 0]) + HTTP2ServerFrame.reset(1, 8)
    + HTTP2ServerFrame.data(3, "", isEnd: true) + HTTP2ServerFrame.padded(5, "end", padding: 0, isEnd: true)
    + HTTP2ServerFrame.goAway(5, 11, "calm") + HTTP2ServerFrame.ping(6, isAnswer: true)

  private static let expected = [
    "settings 12", "acknowledgement", "ping 5", "headers 1 13", "data 1 hello",
    "data 1 padded +4", "data 1  +3 empty", "ignored", "ignored", "ignored", "update 0 100", "update 1 3", "ignored",
    "ignored", "headers 3 3 end", "headers 5 1", "reset 1 CANCEL", "data 3  end empty", "data 5 end +1 end",
    "go away 5 ENHANCE_YOUR_CALM calm", "pong 6",
  ]

  @Test func `every type of frame is read`() {
    let read = HTTP2FrameReader.read(Self.conversation)
    #expect(read.frames == Self.expected)
    #expect(read.error == nil)
    #expect(read.isBetweenFrames)
  }

  @Test func `frames are the same however their bytes are split`() {
    let whole = HTTP2FrameReader.read(Self.conversation)
    for size in 1..<Self.conversation.count {
      #expect(HTTP2FrameReader.read(Self.conversation, pieces: size).frames == whole.frames)
    }
  }

  @Test func `a conversation that is cut anywhere has no error, and ends within a frame unless it is cut behind one`() {
    var ends: Set<Int> = [0]
    var position = 0
    while position < Self.conversation.count {
      position += 9 + Int(Self.conversation[position + 2]) + Int(Self.conversation[position + 1]) << 8
      ends.insert(position)
    }
    let blocks = HTTP2FrameReader.ends(ofOpenBlocksIn: Self.conversation)
    for count in 0..<Self.conversation.count {
      let read = HTTP2FrameReader.read(Array(Self.conversation[..<count]))
      #expect(read.error == nil)
      #expect(read.isBetweenFrames == (ends.contains(count) && !blocks.contains(count)))
    }
  }

  /// Each what is wrong, the bytes behind the settings, and the code.
  @Test(
    arguments: [
      // Section 4.2.
      ("a frame that is too large", HTTP2ServerFrame.frame(0, 0, 1, .zeros(16_385)), .frameSizeError),
      (
        "a frame of an unknown type that is too large", HTTP2ServerFrame.frame(99, 0, 1, .zeros(16_385)),
        .frameSizeError
      ),
      // Section 6.1.
      ("DATA of no stream", HTTP2ServerFrame.data(0, "a"), .protocolError),
      ("DATA whose padding is too long", HTTP2ServerFrame.frame(0, 8, 1, [2, 0]), .protocolError),
      ("DATA whose padding is as long as the frame", HTTP2ServerFrame.frame(0, 8, 1, [1]), .protocolError),
      ("padded DATA without a length", HTTP2ServerFrame.frame(0, 8, 1), .frameSizeError),
      // Section 6.2.
      ("HEADERS of no stream", HTTP2ServerFrame.headers(0, []), .protocolError),
      ("HEADERS whose padding is too long", HTTP2ServerFrame.frame(1, 12, 1, [2, 0]), .protocolError),
      ("padded HEADERS without a length", HTTP2ServerFrame.frame(1, 12, 1), .frameSizeError),
      ("HEADERS without their priority", HTTP2ServerFrame.frame(1, 0x24, 1, [0, 0, 0, 0]), .frameSizeError),
      // Section 6.3.
      ("PRIORITY of no stream", HTTP2ServerFrame.frame(2, 0, 0, .zeros(5)), .protocolError),
      ("PRIORITY of 4 bytes", HTTP2ServerFrame.frame(2, 0, 1, .zeros(4)), .frameSizeError),
      // Section 6.4.
      ("RST_STREAM of no stream", HTTP2ServerFrame.reset(0, 0), .protocolError),
      ("RST_STREAM of 5 bytes", HTTP2ServerFrame.frame(3, 0, 1, .zeros(5)), .frameSizeError),
      // Section 6.5.
      ("SETTINGS of a stream", HTTP2ServerFrame.frame(4, 0, 1), .protocolError),
      ("SETTINGS of 5 bytes", HTTP2ServerFrame.frame(4, 0, 0, .zeros(5)), .frameSizeError),
      ("SETTINGS that acknowledge, and set", HTTP2ServerFrame.frame(4, 1, 0, .zeros(6)), .frameSizeError),
      // Sections 6.6 and 8.4.
      ("PUSH_PROMISE", HTTP2ServerFrame.frame(5, 4, 1, [0, 0, 0, 2, 0x82]), .protocolError),
      // Section 6.7.
      ("PING of a stream", HTTP2ServerFrame.frame(6, 0, 1, .zeros(8)), .protocolError),
      ("PING of 7 bytes", HTTP2ServerFrame.frame(6, 0, 0, .zeros(7)), .frameSizeError),
      // Section 6.8.
      ("GOAWAY of a stream", HTTP2ServerFrame.frame(7, 0, 1, .zeros(8)), .protocolError),
      ("GOAWAY of 7 bytes", HTTP2ServerFrame.frame(7, 0, 0, .zeros(7)), .frameSizeError),
      // Section 6.9.
      ("WINDOW_UPDATE of 5 bytes", HTTP2ServerFrame.frame(8, 0, 1, .zeros(5)), .frameSizeError),
      // Section 6.10.
      ("CONTINUATION of nothing", HTTP2ServerFrame.frame(9, 4, 1), .protocolError),
      ("a block that DATA interrupt", HTTP2ServerFrame.frame(1, 0, 1) + HTTP2ServerFrame.data(1, "a"), .protocolError),
      (
        "a block that another interrupts", HTTP2ServerFrame.frame(1, 0, 1) + HTTP2ServerFrame.frame(9, 4, 3),
        .protocolError
      ),
      (
        "a block that an unknown type interrupts", HTTP2ServerFrame.frame(1, 0, 1) + HTTP2ServerFrame.frame(99),
        .protocolError
      ),
      (
        "a block of too many frames", HTTP2ServerFrame.frame(1, 0, 1) + .repeating(HTTP2ServerFrame.frame(9, 0, 1), 65),
        .enhanceYourCalm
      ),
      (
        "a block that is too large",
        HTTP2ServerFrame.frame(1, 0, 1) + .repeating(HTTP2ServerFrame.frame(9, 0, 1, .zeros(16_384)), 17),
        .enhanceYourCalm
      ),
    ] as [(String, [UInt8], HTTP2ErrorCode)])
  func `a frame that is wrong is an error, however it is split`(what: String, bytes: [UInt8], code: HTTP2ErrorCode) {
    for size in [1, 2, 9, 10, 100, .max] {
      #expect(HTTP2FrameReader.read(HTTP2ServerFrame.settings() + bytes, pieces: size).error?.code == code, "\(what)")
    }
  }

  /// Section 3.4.
  @Test(
    arguments: [
      HTTP2ServerFrame.ping(1), HTTP2ServerFrame.acknowledgement, HTTP2ServerFrame.head(1), HTTP2ServerFrame.frame(99),
      Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
    ])
  func `a server that does not begin with its settings is refused`(bytes: [UInt8]) {
    #expect(HTTP2FrameReader.read(bytes).error?.code == .protocolError)
    #expect(HTTP2FrameReader.read(bytes, pieces: 1).error?.code == .protocolError)
  }

  @Test func `what is kept is no more than a frame and a block`() {
    var reader = HTTP2FrameReader()
    var most = 0
    let fragment = HTTP2ServerFrame.frame(9, 0, 1, .zeros(16_384))
    let bytes =
      HTTP2ServerFrame.settings() + HTTP2ServerFrame.frame(1, 0, 1) + .repeating(fragment, 16) + fragment.dropLast()
    bytes.withUnsafeBytes { bytes in
      for start in stride(from: 0, to: bytes.count, by: 1000) {
        var input = UnsafeRawBufferPointer(rebasing: bytes[start...].prefix(1000))
        while (try? reader.next(&input)) ?? nil != nil {}
        most = max(most, reader.keptCount)
      }
    }
    #expect(most > 256 << 10)
    #expect(most <= 256 << 10 + 16_393)
  }

  @Test func `random bytes are read without a trap`() {
    var random = RandomNumbers(seed: 4)
    for _ in 0..<3_000 {
      var bytes = HTTP2ServerFrame.settings()
      for _ in 0..<random.next(below: 6) {
        let (type, flags) = (UInt8(random.next(below: 11)), UInt8(random.next() & 0xFF))
        bytes += HTTP2ServerFrame.frame(type, flags, UInt32(random.next(below: 3)), random.bytes(upTo: 20))
      }
      bytes += random.bytes(upTo: 20)
      let whole = HTTP2FrameReader.read(bytes)
      #expect(HTTP2FrameReader.read(bytes, pieces: 1 + random.next(below: 12)) == whole)
    }
  }
}

extension [UInt8] {
  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static func repeating(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    Array(repeatElement(bytes, count: count).joined())
  }
}

extension HTTP2FrameReader {
  /// What was read, in words. Pieces of DATA are joined.
  struct Read: Equatable {
    var frames: [String] = []
    var error: HTTP2ConnectionError?
    var isBetweenFrames = true
  }

  static func read(_ bytes: [UInt8], pieces size: Int = .max) -> Read {
    var reader = HTTP2FrameReader()
    var read = Read()
    var data: (stream: UInt32, bytes: [UInt8], padding: Int)?
    do throws(HTTP2ConnectionError) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, rest.count), alignment: 1)
        defer { piece.deallocate() }
        piece.copyBytes(from: rest.prefix(size))
        rest = rest.dropFirst(size)
        var input = UnsafeRawBufferPointer(piece)
        while let frame = try reader.next(&input) {
          guard case .data(let piece) = frame else {
            read.frames.append(frame.text)
            continue
          }
          data = (piece.stream, (data?.bytes ?? []) + piece.bytes, (data?.padding ?? 0) + piece.padding)
          // The end of a frame is the end of the stream here, or what another begins behind.
          guard let (stream, bytes, padding) = data, reader.isBetweenFrames else { continue }
          let text = String(decoding: bytes, as: UTF8.self)
          let words = (padding > 0 ? " +\(padding)" : "") + (piece.isEnd ? " end" : "")
          read.frames.append("data \(stream) \(text)\(words)\(piece.isEmptyFrame ? " empty" : "")")
          data = nil
        }
      }
    } catch {
      read.error = error
    }
    read.isBetweenFrames = read.error != nil || reader.isBetweenFrames
    return read
  }

  /// The places behind frames at which a block of fields is not whole.
  static func ends(ofOpenBlocksIn bytes: [UInt8]) -> Set<Int> {
    var (ends, position) = (Set<Int>(), 0)
    while position < bytes.count {
      let (type, flags) = (bytes[position + 3], bytes[position + 4])
      position += 9 + Int(bytes[position + 2]) + Int(bytes[position + 1]) << 8
      if type == 1 || type == 9, flags & 4 == 0 { ends.insert(position) }
    }
    return ends
  }
}

extension HTTP2Frame {
  fileprivate var text: String {
    switch self {
    case .data: "data"
    case .headers(let stream, let block, let isEnd): "headers \(stream) \(block.count)\(isEnd ? " end" : "")"
    case .reset(let stream, let code): "reset \(stream) \(code)"
    case .settings(let payload): "settings \(payload.count)"
    case .settingsAcknowledgement: "acknowledgement"
    case .ping(let payload): "ping \(payload)"
    case .pong(let payload): "pong \(payload)"
    case .goAway(let last, let code, let text): "go away \(last) \(code) \(String(decoding: text, as: UTF8.self))"
    case .windowUpdate(let stream, let increment): "update \(stream) \(increment)"
    case .ignored: "ignored"
    }
  }
}
