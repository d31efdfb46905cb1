/// The parts of a request's head that its framing needs (RFC 9112, section 6), and the size that its path asks for.
struct RequestHead {
  /// The size of the head, with its empty line.
  let count: Int
  /// The size of the body; the fields must contain its length.
  let bodyCount: Int
  /// The number in the path.
  let size: Int

  /// Returns `nil` until the whole head has arrived.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let firstEnd = bytes.firstIndex(of: Self.newline) else { return nil }
    size = Self.number(bytes[..<firstEnd].drop { $0 != UInt8(ascii: "/") }.dropFirst())
    var bodyCount = 0
    var rest = bytes[(firstEnd + 1)...]
    while let end = rest.firstIndex(of: Self.newline) {
      let line = rest[..<end]
      rest = rest[(end + 1)...]
      if line.count <= 1 {
        self.bodyCount = bodyCount
        count = rest.startIndex
        return
      }
      // The bit in which the two cases of a letter differ.
      if line.starts(with: Self.lengthName.utf8, by: { $0 | 0x20 == $1 }) {
        bodyCount = Self.number(line.dropFirst(Self.lengthName.utf8.count).drop { $0 == UInt8(ascii: " ") })
      }
    }
    return nil
  }

  private static let newline = UInt8(ascii: "\n")
  private static let lengthName = "content-length:"

  private static func number(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    bytes.prefix { 0x30...0x39 ~= $0 }.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }
}
