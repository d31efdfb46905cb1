extension JSONWriter {
  /// Writes a string. Quotes, backslashes and control characters are escaped, and nothing else.
  @inlinable
  public mutating func writeString(_ text: String) {
    separate()
    if let () = text.utf8.withContiguousStorageIfAvailable({ appendText($0) }) { return }
    var copy = text
    copy.withUTF8 { appendText($0) }
  }

  @inlinable @inline(__always)
  mutating func appendText(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return append("\"\"") }
    appendText(start, count: bytes.count)
  }

  @usableFromInline
  mutating func appendText(_ bytes: UnsafePointer<UInt8>, count length: Int) {
    // The longest escape has six bytes, and eight are copied at once.
    reserve(length + 2 + 8)
    buffer[count] = UInt8(ascii: "\"")
    count += 1
    var from = bytes
    let end = bytes + length
    while from < end {
      if end - from >= 8 {
        let word = UInt64(bytesAt: from)
        UnsafeMutableRawPointer(buffer + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        let marks = word.firstEscapedInString
        let plain = marks == 0 ? 8 : marks.trailingZeroBitCount >> 3
        from += plain
        count += plain
        if marks == 0 { continue }
      }
      if end - from < 8 {
        let word = UInt64(bytesAt: from, count: end - from)
        UnsafeMutableRawPointer(buffer + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        let marks = word.firstEscapedInString
        let plain = marks == 0 ? end - from : marks.trailingZeroBitCount >> 3
        from += plain
        count += plain
        if marks == 0 { break }
      }
      let byte = from.pointee
      from += 1
      reserve(6 + (end - from) + 1 + 8)
      appendEscape(byte)
    }
    buffer[count] = UInt8(ascii: "\"")
    count += 1
  }

  private mutating func appendEscape(_ byte: UInt8) {
    buffer[count] = UInt8(ascii: "\\")
    count += 1
    let letter: UInt8? =
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
      case 0x08: UInt8(ascii: "b")
      case 0x0C: UInt8(ascii: "f")
      case 0x0A: UInt8(ascii: "n")
      case 0x0D: UInt8(ascii: "r")
      case 0x09: UInt8(ascii: "t")
      default: nil
      }
    if let letter {
      buffer[count] = letter
      count += 1
      return
    }
    append("u00")
    append(Self.digit(byte >> 4))
    append(Self.digit(byte & 15))
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
