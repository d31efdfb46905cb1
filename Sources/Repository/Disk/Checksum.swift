/// A 64-bit checksum that notices every change within one 8-byte word, so every flipped bit. It is no protection
/// against somebody who means to deceive.
///
/// Each step maps the state one to one, and so does each word: two inputs of one length that differ in a single word
/// have different states from there to the end.
struct Checksum {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Adds bytes, in little-endian words of 8 of which the last is filled up with zeros, and then their number.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    let whole = bytes.count & ~7
    var position = 0
    while position < whole {
      add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
      position += 8
    }
    var last: UInt64 = 0
    for index in (whole..<bytes.count).reversed() { last = last << 8 | UInt64(bytes[index]) }
    add(last)
    add(UInt64(bytes.count))
  }

  private mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0xFF51_AFD7_ED55_8CCD
    value ^= value >> 32
  }
}
