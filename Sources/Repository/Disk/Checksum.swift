/// A 64-bit checksum that detects every change within one 8-byte word, so every flipped bit. It does not protect
/// against deliberate changes.
///
/// Each step is a bijection of the state for a given word, and of the word for a given state: two inputs of the same
/// length that differ in a single word have different states from there to the end.
struct Checksum {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Adds bytes, as little-endian words of 8 bytes, the last padded with zeros, and then their number.
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
