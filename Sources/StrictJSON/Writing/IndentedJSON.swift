extension RawJSON {
  /// The value as a text for people: each member and each element on a line of its own, indented by two spaces a
  /// level; empty arrays and objects stay `[]` and `{}`. It does not end with a line break.
  public var indented: String {
    var text = IndentedText()
    for byte in bytes { text.append(byte) }
    return String(decoding: text.bytes, as: UTF8.self)
  }
}

/// Spreads a JSON text over lines, byte by byte.
private struct IndentedText {
  private(set) var bytes: [UInt8] = []
  private var level = 0
  private var isInString = false
  private var isEscaped = false
  /// Whether the last byte opened an array or object, which may be empty.
  private var hasJustOpened = false

  mutating func append(_ byte: UInt8) {
    if isInString {
      bytes.append(byte)
      isInString = isEscaped || byte != UInt8(ascii: "\"")
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      return
    }
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): return
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      level -= 1
      if !hasJustOpened { breakLine() }
      hasJustOpened = false
      bytes.append(byte)
      return
    default: break
    }
    if hasJustOpened { breakLine() }
    hasJustOpened = false
    bytes.append(byte)
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      level += 1
      hasJustOpened = true
    case UInt8(ascii: ","): breakLine()
    case UInt8(ascii: ":"): bytes.append(UInt8(ascii: " "))
    case UInt8(ascii: "\""): isInString = true
    default: break
    }
  }

  private mutating func breakLine() {
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
  }
}
