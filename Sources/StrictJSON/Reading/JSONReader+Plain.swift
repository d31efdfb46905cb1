// What most texts are made of, passed without a look at each byte: keys and strings of plain ASCII, with no white space
// around them. What is written otherwise is left where it is, to the methods that check everything: the errors are theirs.

extension JSONReader {
  /// Passes a key that is only skipped, with its colon, and the comma before it; returns whether it did.
  @inline(__always)
  mutating func passPlainKey() -> Bool {
    var place = position
    if !isFirst {
      guard place < end, place.pointee == UInt8(ascii: ",") else { return false }
      place += 1
    }
    guard place < end, place.pointee == UInt8(ascii: "\""),
      let quote = Self.plainEnd(from: place + 1, before: end)
    else { return false }
    // The quote is before the end: there may be nothing behind it.
    guard end - quote >= 2, quote[1] == UInt8(ascii: ":") else { return false }
    position = quote + 2
    isFirst = false
    return true
  }

  /// Passes a string; returns whether it did.
  @inline(__always)
  mutating func passPlainString() -> Bool {
    guard position < end, position.pointee == UInt8(ascii: "\""),
      let quote = Self.plainEnd(from: position + 1, before: end)
    else { return false }
    position = quote + 1
    return true
  }

  // Both are static, since a method that is not inlined would get a copy of the whole reader.

  /// The quote that ends plain ASCII; `nil` if something else comes first, or the text's last bytes, of which there are
  /// no eight to look at.
  @inline(__always)
  private static func plainEnd(
    from first: UnsafePointer<UInt8>, before end: UnsafePointer<UInt8>
  ) -> UnsafePointer<UInt8>? {
    var place = first
    while end - place >= 8 {
      let marks = UInt64(bytesAt: place).firstSpecialInString
      guard marks == 0 else {
        place += marks.trailingZeroBitCount >> 3
        return place.pointee == UInt8(ascii: "\"") ? place : nil
      }
      place += 8
      if place - first == 32 { place = longTextEnd(from: place, before: end) }
    }
    return nil
  }

  /// The place behind plain ASCII, 32 bytes at a time.
  @inline(never)
  static func longTextEnd(
    from first: UnsafePointer<UInt8>, before end: UnsafePointer<UInt8>
  ) -> UnsafePointer<UInt8> {
    var place = first
    while end - place >= 32, !UnsafeRawPointer(place).loadUnaligned(as: SIMD4<UInt64>.self).hasSpecialInString {
      place += 32
    }
    return place
  }
}
