import SystemBase

extension Data {
  /// The text with each escape of a surrogate that has no partner, such as `\uD83D` at the end of a string that was cut
  /// off, replaced by `\uFFFD`, the replacement character, which takes as many bytes. Everything else is left to the
  /// reader, what is no JSON too.
  func replacingLoneSurrogates() -> Data {
    var places: [Int] = []
    withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
      guard let first = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      /// The code unit that is escaped at a position, if there is one.
      func unit(at position: Int) -> UInt32? {
        guard position + 6 <= bytes.count, first[position] == UInt8(ascii: "\\"),
          first[position + 1] == UInt8(ascii: "u")
        else { return nil }
        return Escapes.hexadecimal(first + position + 2)
      }
      var position = 0
      while let found = memchr(first + position, Int32(UInt8(ascii: "\\")), bytes.count - position) {
        position = found.assumingMemoryBound(to: UInt8.self) - UnsafeMutablePointer(mutating: first)
        switch unit(at: position) {
        case nil: position += 2
        case .some(0xD800...0xDBFF) where unit(at: position + 6).map({ 0xDC00...0xDFFF ~= $0 }) ?? false: position += 12
        case .some(0xD800...0xDFFF):
          places.append(position)
          position += 6
        default: position += 6
        }
        if position >= bytes.count { return }
      }
    }
    guard !places.isEmpty else { return self }
    var text = self
    for place in places {
      let start = text.startIndex + place
      text.replaceSubrange(start..<start + 6, with: "\\uFFFD".utf8)
    }
    return text
  }
}
