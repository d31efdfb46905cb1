/// Unescapes strings (RFC 8259, section 7) that have been checked before.
@usableFromInline
enum Escapes {
  /// The string that `count` checked bytes stand for.
  @usableFromInline @inline(never)
  static func string(from first: UnsafePointer<UInt8>, count: Int) -> String {
    // An unescaped character is never longer than its escape.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
      guard let target = buffer.baseAddress else { return "" }
      let length = unescape(first, count, into: target)
      return String(copying: UTF8Span(unchecked: UnsafeBufferPointer(start: target, count: length).span))
    }
  }

  /// A number of checked bytes that ends between characters and between escapes: `limit` or slightly more, or all if
  /// there are no more than that.
  static func wholeCharacters(from first: UnsafePointer<UInt8>, count: Int, atLeast limit: Int) -> Int {
    guard count > limit else { return count }
    var length = 0
    while length < limit {
      if first[length] != UInt8(ascii: "\\") {
        length += 1
      } else if first[length + 1] != UInt8(ascii: "u") {
        length += 2
      } else {
        let isPair = (0xD800...0xDBFF).contains(hexadecimal(first + length + 2) ?? 0)
        length += isPair ? 12 : 6
      }
    }
    while length < count, first[length] & 0xC0 == 0x80 { length += 1 }
    return length
  }

  /// Writes the unescaped bytes, and returns their number.
  private static func unescape(
    _ first: UnsafePointer<UInt8>, _ count: Int, into target: UnsafeMutablePointer<UInt8>
  ) -> Int {
    var from = first
    let end = first + count
    var to = target
    while from < end {
      guard from.pointee == UInt8(ascii: "\\") else {
        to.pointee = from.pointee
        from += 1
        to += 1
        continue
      }
      let letter = from[1]
      from += 2
      guard letter == UInt8(ascii: "u") else {
        to.pointee = character(letter)
        to += 1
        continue
      }
      var scalar = hexadecimal(from) ?? 0
      from += 4
      if (0xD800...0xDBFF).contains(scalar) {
        scalar = 0x10000 + (scalar - 0xD800) << 10 + ((hexadecimal(from + 2) ?? 0xDC00) - 0xDC00)
        from += 6
      }
      to += write(scalar, to: to)
    }
    return to - target
  }

  private static func character(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }

  private static func write(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
    switch scalar {
    case ..<0x80:
      target[0] = UInt8(truncatingIfNeeded: scalar)
      return 1
    case ..<0x800:
      target[0] = 0xC0 | UInt8(truncatingIfNeeded: scalar >> 6)
      target[1] = 0x80 | UInt8(truncatingIfNeeded: scalar & 0x3F)
      return 2
    case ..<0x10000:
      target[0] = 0xE0 | UInt8(truncatingIfNeeded: scalar >> 12)
      target[1] = 0x80 | UInt8(truncatingIfNeeded: scalar >> 6 & 0x3F)
      target[2] = 0x80 | UInt8(truncatingIfNeeded: scalar & 0x3F)
      return 3
    default:
      target[0] = 0xF0 | UInt8(truncatingIfNeeded: scalar >> 18)
      target[1] = 0x80 | UInt8(truncatingIfNeeded: scalar >> 12 & 0x3F)
      target[2] = 0x80 | UInt8(truncatingIfNeeded: scalar >> 6 & 0x3F)
      target[3] = 0x80 | UInt8(truncatingIfNeeded: scalar & 0x3F)
      return 4
    }
  }

  /// The value of four hexadecimal digits. Four bytes must be readable.
  static func hexadecimal(_ digits: UnsafePointer<UInt8>) -> UInt32? {
    var value: UInt32 = 0
    for index in 0..<4 {
      let byte = digits[index]
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return value
  }
}
