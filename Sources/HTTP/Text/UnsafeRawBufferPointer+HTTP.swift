import Foundation

extension UnsafeRawBufferPointer {
  /// The index of the first byte of this value at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    guard start < count, let base = baseAddress, let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Whether all bytes may occur in a field's line: no control characters except tabs.
  var isFieldContent: Bool {
    var position = 0
    // Eight at a time, until there is a byte below a space, or a DEL.
    while position + 8 <= count {
      let bytes = loadUnaligned(fromByteOffset: position, as: UInt64.self)
      let others = bytes ^ 0x7F7F_7F7F_7F7F_7F7F
      let controls = (bytes &- 0x2020_2020_2020_2020) & ~bytes
      let deletes = (others &- 0x0101_0101_0101_0101) & ~others
      if (controls | deletes) & 0x8080_8080_8080_8080 != 0 { break }
      position += 8
    }
    while position < count, self[position].isFieldByte { position += 1 }
    return position == count
  }
}
