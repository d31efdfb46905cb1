import Foundation

@testable import SocketHTTP

/// The bytes of frames as a server sends them, right or wrong as they may be.
enum ServerFrame {
  static func bytes(
    _ opcode: UInt8, _ payload: some Collection<UInt8> = [], isFinal: Bool = true, reserved: UInt8 = 0,
    length: [UInt8]? = nil, isMasked: Bool = false
  ) -> [UInt8] {
    var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
    switch payload.count {
    case _ where length != nil: bytes += length ?? []
    case ...125: bytes.append(UInt8(payload.count))
    case ...Int(UInt16.max): bytes += [126] + withUnsafeBytes(of: UInt16(payload.count).bigEndian) { Array($0) }
    default: bytes += [127] + withUnsafeBytes(of: UInt64(payload.count).bigEndian) { Array($0) }
    }
    if isMasked {
      bytes[1] |= 0x80
      bytes += [0, 0, 0, 0]
    }
    return bytes + payload
  }

  static func text(_ text: String, isFinal: Bool = true) -> [UInt8] { bytes(1, text.utf8, isFinal: isFinal) }

  static func binary(_ payload: some Collection<UInt8>, isFinal: Bool = true) -> [UInt8] {
    bytes(2, payload, isFinal: isFinal)
  }

  static func continuation(_ payload: some Collection<UInt8>, isFinal: Bool = true) -> [UInt8] {
    bytes(0, payload, isFinal: isFinal)
  }

  static func close(_ code: UInt16, _ reason: String = "") -> [UInt8] {
    bytes(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.utf8)
  }

  static func ping(_ payload: String = "") -> [UInt8] { bytes(9, payload.utf8) }

  static func pong(_ payload: String = "") -> [UInt8] { bytes(10, payload.utf8) }

  /// A text that is compressed (RFC 7692), in one frame or in several with so many bytes each.
  static func compressed(_ text: [UInt8], pieces size: Int = .max) throws -> [UInt8] {
    let payload = text.withUnsafeBytes { MessageDeflater.deflate($0) } ?? []
    let starts = Array(stride(from: 0, to: payload.count, by: size == .max ? payload.count : size))
    return starts.flatMap { start in
      let end = min(start &+ size, payload.count)
      let piece = payload[start..<(size == .max ? payload.count : end)]
      return bytes(
        start == 0 ? 1 : 0, piece, isFinal: start == starts.last, reserved: start == 0 ? 4 : 0)
    }
  }
}

extension WebSocketReader {
  /// All items of some bytes, which arrive in pieces of this size, and the code of a violation.
  static func read(
    _ bytes: [UInt8], pieces size: Int = .max, limit: Int = 1 << 20, compression: CompressionAgreement? = nil
  ) -> (items: [Item], violation: WebSocketViolation?) {
    var reader = WebSocketReader(limit: limit, inflater: compression.flatMap { MessageInflater($0) })
    var (items, rest) = ([Item](), bytes[...])
    do throws(WebSocketViolation) {
      while !rest.isEmpty {
        let piece = Array(rest.prefix(size))
        rest = rest.dropFirst(size)
        try piece.withBytes { bytes throws(WebSocketViolation) in
          var (input, turn) = (bytes, ReadingTurn(of: .max))
          while let item = try reader.next(&input, during: &turn) { items.append(item) }
        }
      }
    } catch {
      return (items, error)
    }
    return (items, nil)
  }
}

extension WebSocketMachine {
  /// Reads what has arrived, in a turn of its own.
  mutating func receive(_ input: UnsafeRawBufferPointer, room: Int = .max, into effects: inout Effects) {
    var turn = ReadingTurn()
    receive(input, room: room, during: &turn, into: &effects)
  }

  /// Reads more of it, in a turn of its own.
  mutating func readOn(room: Int, into effects: inout Effects) {
    var turn = ReadingTurn()
    readOn(room: room, during: &turn, into: &effects)
  }
}
