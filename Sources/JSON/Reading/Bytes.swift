#if canImport(Glibc)
  public import Glibc
#elseif canImport(Musl)
  public import Musl
#else
  public import Darwin
#endif

/// Whether `count` bytes are equal; both places must hold that many.
@inlinable @inline(__always)
func bytesAreEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
  memcmp(left, right, count) == 0
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
