extension JSONReader {
  /// What a scan found out about a string.
  @frozen @usableFromInline
  struct StringShape {
    @usableFromInline var isASCII: Bool
    @usableFromInline var hasEscapes: Bool

    @inlinable
    init(isASCII: Bool, hasEscapes: Bool) {
      self.isASCII = isASCII
      self.hasEscapes = hasEscapes
    }
  }

  /// Reads a string.
  @inlinable
  public mutating func readString() throws(JSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw mismatch("a string") }
    position += 1
    let first = position
    let shape = try scanString()
    return makeString(from: first, count: position - first - 1, shape)
  }

  /// Reads the next value if it is this string, written without escapes, and returns whether it was: for enums, whose
  /// cases are known.
  @inlinable @inline(__always)
  public mutating func readString(ifEqualTo text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard peek() == UInt8(ascii: "\""), end - position >= count + 2, position[count + 1] == UInt8(ascii: "\""),
      bytesAreEqual(position + 1, text.utf8Start, count)
    else { return false }
    position += count + 2
    return true
  }

  /// Moves from after a string's opening quote to after its closing quote, and checks everything in between.
  @inlinable
  mutating func scanString() throws(JSONError) -> StringShape {
    while end - position >= 8 {
      let marks = UInt64(bytesAt: position).firstSpecialInString
      if marks == 0 {
        position += 8
        continue
      }
      position += marks.trailingZeroBitCount >> 3
      if position.pointee == UInt8(ascii: "\"") {
        position += 1
        return StringShape(isASCII: true, hasEscapes: false)
      }
      break
    }
    return try scanStringSlowly()
  }

  /// Like ``scanString()``, for the rest of a string with other characters than plain ASCII, or near the end.
  @usableFromInline @inline(never)
  mutating func scanStringSlowly() throws(JSONError) -> StringShape {
    var shape = StringShape(isASCII: true, hasEscapes: false)
    while position < end {
      let byte = position.pointee
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return shape
      case UInt8(ascii: "\\"):
        shape.hasEscapes = true
        if try skipEscape() { shape.isASCII = false }
      case 0x80...:
        shape.isASCII = false
        repeat {
          let length = UTF8Sequence.length(at: position, before: end)
          guard length > 0 else { throw malformed("text in UTF-8") }
          position += length
        } while position < end && position.pointee >= 0x80
      case ..<0x20:
        throw malformed("no control character in a string")
      default:
        position += 1
        skipPlainText()
      }
    }
    throw malformed("a closing quote")
  }

  /// Skips plain ASCII, eight bytes at a time.
  @inline(__always)
  private mutating func skipPlainText() {
    while end - position >= 8 {
      let marks = UInt64(bytesAt: position).firstSpecialInString
      guard marks == 0 else {
        position += marks.trailingZeroBitCount >> 3
        return
      }
      position += 8
    }
  }

  /// Checks and skips one escape (RFC 8259, section 7). Returns whether it stands for a character outside ASCII.
  private mutating func skipEscape() throws(JSONError) -> Bool {
    guard end - position >= 2 else { throw malformed("an escape") }
    switch position[1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
      return false
    case UInt8(ascii: "u"):
      guard let unit = hexadecimalUnit(at: position) else { throw malformed("four hexadecimal digits") }
      switch unit {
      case 0xD800...0xDBFF:
        guard let low = hexadecimalUnit(at: position + 6), (0xDC00...0xDFFF).contains(low) else {
          throw malformed("a pair of surrogates")
        }
        position += 12
        return true
      case 0xDC00...0xDFFF:
        throw malformed("a pair of surrogates")
      default:
        position += 6
        return unit >= 0x80
      }
    default:
      throw malformed("an escape")
    }
  }

  /// The value of the four digits, if `\uXXXX` is at this place.
  private func hexadecimalUnit(at pointer: UnsafePointer<UInt8>) -> UInt32? {
    guard end - pointer >= 6, pointer[0] == UInt8(ascii: "\\"), pointer[1] == UInt8(ascii: "u") else { return nil }
    return Escapes.hexadecimal(pointer + 2)
  }

  /// Makes a string from checked bytes.
  @inlinable @inline(__always)
  func makeString(from first: UnsafePointer<UInt8>, count: Int, _ shape: StringShape) -> String {
    if shape.hasEscapes { return Escapes.string(from: first, count: count) }
    let bytes = UnsafeBufferPointer(start: first, count: count)
    return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: shape.isASCII))
  }
}
