import HTTPClientCore
import SystemBase

/// What a frame is (RFC 6455, section 5.2).
enum Opcode: UInt8 {
  case continuation = 0x0
  case text = 0x1
  case binary = 0x2
  case close = 0x8
  case ping = 0x9
  case pong = 0xA

  /// Whether it may come between the fragments of a message (section 5.5).
  var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The head of a frame of a server, which has no mask.
struct FrameHead: Equatable {
  var opcode: Opcode
  var isFinal: Bool
  /// The first reserved bit: the message is compressed (RFC 7692, section 6).
  var isCompressed: Bool
  var length: Int

  /// How many bytes a control frame carries at most (RFC 6455, section 5.5).
  static let largestControl = 125

  /// Reads the head at the beginning of `bytes`, and returns how many bytes it takes; `nil` if it is not complete.
  static func read(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> (head: FrameHead, size: Int)? {
    guard bytes.count >= 2 else { return nil }
    let (first, second) = (bytes[0], bytes[1])
    guard first & 0x30 == 0 else { throw .protocolError("a frame has a reserved bit that was not agreed on") }
    guard let opcode = Opcode(rawValue: first & 0xF) else {
      throw .protocolError("a frame has the reserved opcode \(first & 0xF)")
    }
    // Section 5.1: a server must not mask.
    guard second & 0x80 == 0 else { throw .protocolError("a frame is masked, which only a client's may be") }
    var head = FrameHead(
      opcode: opcode, isFinal: first & 0x80 != 0, isCompressed: first & 0x40 != 0, length: Int(second))
    if opcode.isControl {
      guard head.isFinal else { throw .protocolError("a control frame is fragmented") }
      guard head.length <= largestControl else { throw .protocolError("a control frame has more than 125 bytes") }
      return (head, 2)
    }
    switch second {
    case 126:
      guard bytes.count >= 4 else { return nil }
      head.length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      guard head.length > 125 else { throw .longForm }
      return (head, 4)
    case 127:
      guard bytes.count >= 10 else { return nil }
      let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
      guard length <= Int.max else { throw .protocolError("a frame's length has its highest bit set") }
      guard length > UInt16.max else { throw .longForm }
      head.length = Int(length)
      return (head, 10)
    default:
      return (head, 2)
    }
  }
}

/// What the server did wrong, and the code with which the connection is closed for it (RFC 6455, section 7.1.7).
struct WebSocketViolation: Error, Equatable {
  let code: WebSocketCloseCode
  let reason: String

  /// 1002: a frame is not as it must be.
  static func protocolError(_ reason: String) -> Self { Self(code: .protocolError, reason: reason) }

  /// Section 5.2: the shortest form must be used.
  static var longForm: Self { protocolError("a frame's length is not in its shortest form") }

  /// 1007: a text is not UTF-8, or a message cannot be decompressed.
  static func invalidData(_ reason: String) -> Self { Self(code: .invalidData, reason: reason) }

  /// 1009.
  static func tooLarge(_ limit: Int) -> Self {
    Self(code: .tooLarge, reason: "a message is larger than \(limit) bytes: raise the limit, or have it sent in parts")
  }

  /// The error that the observer gets.
  var error: RequestError {
    RequestError(
      code == .tooLarge ? .tooLarge : .badResponse,
      "The WebSocket connection was closed with \(code): \(reason).", cause: WebSocketFailure.violation(code))
  }
}

/// Writes the frames of a client, each masked with a key of its own (RFC 6455, section 5.3).
enum FrameWriter {
  /// How many bytes come before the payload at most.
  static let largestHead = 14

  /// Appends a frame with a given key, whose first byte in memory masks the first of the payload.
  static func write(
    _ opcode: Opcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true, isCompressed: Bool = false,
    key: UInt32, to bytes: inout [UInt8]
  ) {
    let count = payload.count
    bytes.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
    if count <= 125 {
      bytes.append(0x80 | UInt8(count))
    } else if count <= UInt16.max {
      bytes.append(0x80 | 126)
      withUnsafeBytes(of: UInt16(count).bigEndian) { bytes.append(contentsOf: $0) }
    } else {
      bytes.append(0x80 | 127)
      withUnsafeBytes(of: UInt64(count).bigEndian) { bytes.append(contentsOf: $0) }
    }
    withUnsafeBytes(of: key) { bytes.append(contentsOf: $0) }
    let start = bytes.count
    bytes.append(contentsOf: payload)
    bytes.withUnsafeMutableBytes { mask(UnsafeMutableRawBufferPointer(rebasing: $0[start...]), with: key) }
  }

  /// Masks bytes in place, eight at a time.
  static func mask(_ bytes: UnsafeMutableRawBufferPointer, with key: UInt32) {
    let wide = UInt64(key) << 32 | UInt64(key)
    var position = 0
    while position + 8 <= bytes.count {
      let masked = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) ^ wide
      bytes.storeBytes(of: masked, toByteOffset: position, as: UInt64.self)
      position += 8
    }
    withUnsafeBytes(of: key) { key in
      while position < bytes.count {
        bytes[position] ^= key[position & 3]
        position += 1
      }
    }
  }
}

/// Keys that nobody who chooses a payload can foresee (RFC 6455, section 10.3). The system is asked for several at a
/// time, since each call costs more than masking a small message.
struct MaskingKeys {
  private var keys = SIMD16<UInt32>()
  private var left = 0

  mutating func next() -> UInt32 {
    if left == 0 {
      withUnsafeMutableBytes(of: &keys) { $0.fillRandomly() }
      left = SIMD16<UInt32>.scalarCount
    }
    left -= 1
    return keys[left]
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Fills this, of at most 256 bytes, with random bytes of the system.
  func fillRandomly() {
    var generator = SystemRandomNumberGenerator()
    #if !canImport(Darwin)
      if getentropy(baseAddress, count) == 0 { return }
    #endif
    for index in indices { self[index] = UInt8.random(in: .min ... .max, using: &generator) }
  }
}
