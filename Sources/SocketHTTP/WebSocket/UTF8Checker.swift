/// Checks UTF-8 piece by piece, and refuses a text at its first byte that cannot belong to it (Unicode, table 3-7).
struct UTF8Checker {
  /// How many bytes of the current character are still to come, and what the next of them may be.
  private var missing = 0
  private var next: ClosedRange<UInt8> = 0x80...0xBF

  /// Whether there were only ASCII characters.
  private(set) var isASCII = true

  /// Whether the text may end here.
  var isComplete: Bool { missing == 0 }

  /// Takes the next bytes; returns false if they are not UTF-8.
  mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    while position < bytes.count {
      if missing == 0 {
        position = bytes.endOfASCII(from: position)
        guard position < bytes.count else { return true }
        isASCII = false
        guard begin(bytes[position]) else { return false }
      } else {
        guard next ~= bytes[position] else { return false }
        next = 0x80...0xBF
        missing -= 1
      }
      position += 1
    }
    return true
  }

  /// Takes the first byte of a character that is not ASCII.
  private mutating func begin(_ byte: UInt8) -> Bool {
    switch byte {
    case 0xC2...0xDF: missing = 1
    case 0xE0...0xEF:
      missing = 2
      // No longer form than needed, and no half of a surrogate pair.
      if byte == 0xE0 { next = 0xA0...0xBF }
      if byte == 0xED { next = 0x80...0x9F }
    case 0xF0...0xF4:
      missing = 3
      // Neither a longer form than needed, nor beyond U+10FFFF.
      if byte == 0xF0 { next = 0x90...0xBF }
      if byte == 0xF4 { next = 0x80...0x8F }
    default: return false
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  /// The index of the first byte at or after `start` that is not ASCII.
  fileprivate func endOfASCII(from start: Int) -> Int {
    let high: UInt64 = 0x8080_8080_8080_8080
    var position = start
    while position + 32 <= count {
      let first = loadUnaligned(fromByteOffset: position, as: UInt64.self)
      let second = loadUnaligned(fromByteOffset: position + 8, as: UInt64.self)
      let third = loadUnaligned(fromByteOffset: position + 16, as: UInt64.self)
      let fourth = loadUnaligned(fromByteOffset: position + 24, as: UInt64.self)
      guard (first | second | third | fourth) & high == 0 else { break }
      position += 32
    }
    while position + 8 <= count,
      loadUnaligned(fromByteOffset: position, as: UInt64.self) & high == 0
    {
      position += 8
    }
    while position < count, self[position] < 0x80 { position += 1 }
    return position
  }
}
