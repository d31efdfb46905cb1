public import SystemBase

/// Whether `count` bytes are equal; both places must hold that many.
@inlinable @inline(__always)
func bytesAreEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
  memcmp(left, right, count) == 0
}

/// The order of two places by their first `count` bytes: negative, zero or positive.
@inline(__always)
func compareBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  memcmp(left, right, count)
}

/// Like ``bytesAreEqual(_:_:_:)``, for a count that is unknown at compile time: faster than a call for short keys.
@inline(__always)
func keysAreEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
  guard count >= 8 else { return UInt64(bytesAt: left, count: count) == UInt64(bytesAt: right, count: count) }
  // Whole words from the front, then a last one that may overlap with the one before.
  var index = 0
  while index < count - 8 {
    guard UInt64(bytesAt: left + index) == UInt64(bytesAt: right + index) else { return false }
    index += 8
  }
  return UInt64(bytesAt: left + (count - 8)) == UInt64(bytesAt: right + (count - 8))
}

extension UInt64 {
  /// The byte, repeated in all eight places.
  @inlinable @inline(__always)
  init(repeating byte: UInt8) {
    self = 0x0101_0101_0101_0101 &* UInt64(byte)
  }

  /// Eight bytes, the first of them in the lowest place.
  @inlinable @inline(__always)
  init(bytesAt pointer: UnsafePointer<UInt8>) {
    self.init(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt64.self))
  }

  /// `count` bytes, fewer than eight, followed by spaces.
  @inline(__always)
  init(bytesAt pointer: UnsafePointer<UInt8>, count: Int) {
    let raw = UnsafeRawPointer(pointer)
    let spaces = UInt64(repeating: UInt8(ascii: " ")) << UInt64(count * 8)
    switch count {
    case 4...:
      // Two overlapping halves.
      let first = UInt64(UInt32(littleEndian: raw.loadUnaligned(as: UInt32.self)))
      let last = UInt64(UInt32(littleEndian: (raw + (count - 4)).loadUnaligned(as: UInt32.self)))
      self = spaces | first | last << UInt64((count - 4) * 8)
    case 2...:
      let first = UInt64(UInt16(littleEndian: raw.loadUnaligned(as: UInt16.self)))
      let last = UInt64(UInt16(littleEndian: (raw + (count - 2)).loadUnaligned(as: UInt16.self)))
      self = spaces | first | last << UInt64((count - 2) * 8)
    case 1: self = spaces | UInt64(pointer.pointee)
    default: self = spaces
    }
  }

  /// Marks, by the highest bit of its place, the first of the eight bytes that is a quote, a backslash, a control byte,
  /// or not ASCII; the marks above the first mean nothing. Zero if there is no such byte.
  ///
  /// `byte - c` has its highest bit set if byte < c (for bytes below 0x80), and what it borrows only reaches higher
  /// places.
  @inlinable @inline(__always)
  var firstSpecialInString: UInt64 {
    let quotes = (self ^ UInt64(repeating: UInt8(ascii: "\""))) &- UInt64(repeating: 1)
    let backslashes = (self ^ UInt64(repeating: UInt8(ascii: "\\"))) &- UInt64(repeating: 1)
    let controls = self &- UInt64(repeating: 0x20)
    return (quotes | backslashes | controls | self) & UInt64(repeating: 0x80)
  }
}

extension SIMD4<UInt64> {
  /// Whether one of the 32 bytes is what ``Swift/UInt64/firstSpecialInString`` marks.
  @inline(__always)
  var hasSpecialInString: Bool {
    let ones = SIMD4(repeating: UInt64(repeating: 1))
    let quotes = (self ^ SIMD4(repeating: UInt64(repeating: UInt8(ascii: "\"")))) &- ones
    let backslashes = (self ^ SIMD4(repeating: UInt64(repeating: UInt8(ascii: "\\")))) &- ones
    let controls = self &- SIMD4(repeating: UInt64(repeating: 0x20))
    let marks = quotes | backslashes | controls | self
    let half = marks.lowHalf | marks.highHalf
    return (half[0] | half[1]) & UInt64(repeating: 0x80) != 0
  }
}

extension UInt64 {
  /// Marks, by the highest bit of its place, the first of the eight bytes that a JSON string must escape: a quote, a
  /// backslash or a control byte. Zero if there is no such byte.
  @inline(__always)
  var firstEscapedInString: UInt64 {
    let quotes = self ^ UInt64(repeating: UInt8(ascii: "\""))
    let backslashes = self ^ UInt64(repeating: UInt8(ascii: "\\"))
    let ones = UInt64(repeating: 1)
    return
      ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (self &- UInt64(repeating: 0x20)) & ~self)
      & UInt64(repeating: 0x80)
  }
}

/// UTF-8 sequences (RFC 3629, section 4).
@usableFromInline
enum UTF8Sequence {
  /// The length of the non-ASCII sequence that starts here; 0 if it is invalid: a byte that starts nothing, an overlong
  /// form, a surrogate, a character above U+10FFFF, or a truncated sequence.
  @inline(__always)
  static func length(at pointer: UnsafePointer<UInt8>, before end: UnsafePointer<UInt8>) -> Int {
    // Reads four bytes at once, if there are as many.
    guard end - pointer >= 4 else { return lengthNearEnd(at: pointer, before: end) }
    let word = UInt32(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt32.self))
    if word & 0x00C0_C0F0 == 0x0080_80E0 {
      let head = word & 0x0000_200F
      return head == 0 || head == 0x0000_200D ? 0 : 3
    }
    if word & 0x0000_C0E0 == 0x0000_80C0 {
      return word & 0x0000_001E == 0 ? 0 : 2
    }
    if word & 0xC0C0_C0F8 == 0x8080_80F0 {
      // From F0 90 to F4 8F.
      let head = (word & 0x07) << 2 | (word >> 12) & 0x03
      return (1...16).contains(head) ? 4 : 0
    }
    return 0
  }

  private static func lengthNearEnd(at pointer: UnsafePointer<UInt8>, before end: UnsafePointer<UInt8>) -> Int {
    var bytes = (UInt8(0), UInt8(0), UInt8(0), UInt8(0))
    return withUnsafeMutableBytes(of: &bytes) { padded in
      padded.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(end - pointer, 4)))
      guard let copy = padded.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
      // The zeros after the end continue no sequence.
      return length(at: copy, before: copy + 4)
    }
  }
}

extension String {
  /// The text, cut to a number of bytes between two characters, with an ellipsis.
  package func prefix(bytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: limit)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end] + "…"
  }
}
