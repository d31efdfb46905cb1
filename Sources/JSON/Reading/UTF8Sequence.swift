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
