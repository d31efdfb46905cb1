import StrictJSON
import SystemBase

/// Whether `count` bytes are equal. Up to seven bytes after them must be readable on both sides.
@inline(__always)
func areEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
  let (left, right) = (UnsafeRawPointer(left), UnsafeRawPointer(right))
  var index = 0
  while index + 8 <= count {
    if left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      != right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    {
      return false
    }
    index += 8
  }
  guard index < count else { return true }
  let difference =
    left.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
    ^ right.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
  // From one to seven bytes are left.
  return difference &<< UInt64(truncatingIfNeeded: 8 &* (index &- count)) == 0
}

/// Goes through a response's bytes, and checks them on the way. What is common is checked here; strings with escapes or
/// other characters than ASCII, fractions, and values that are kept whole are given to a `JSONReader`.
///
/// `Chunk.padding` zero bytes must follow the text. They end every search, as they are neither white space nor text.
struct ResponseScanner {
  var position: UnsafePointer<UInt8>
  private let start: UnsafePointer<UInt8>
  private let end: UnsafePointer<UInt8>
  /// How many arrays and objects are open.
  private var depth = 0

  /// Begins with a chunk's first byte.
  init(_ chunk: Chunk) {
    start = UnsafePointer(chunk.bytes)
    end = start + chunk.count
    position = start
    // A byte order mark may be ignored (RFC 8259, section 8.1).
    if chunk.count >= 3, start[0] == 0xEF, start[1] == 0xBB, start[2] == 0xBF { position += 3 }
  }

  /// The offset in the chunk.
  var offset: Int { position - start }

  /// How many bytes follow.
  var remaining: Int { end - position }

  /// The next byte that is not white space; 0 at the end.
  @inline(__always)
  mutating func next() -> UInt8 {
    let byte = position.pointee
    return byte > UInt8(ascii: " ") ? byte : skipWhitespace()
  }

  private mutating func skipWhitespace() -> UInt8 {
    while true {
      switch position.pointee {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
      case let byte: return byte
      }
    }
  }

  /// Checks that nothing follows.
  mutating func finish() throws(RecordError) {
    _ = next()
    if position != end { throw .malformed(nil) }
  }

  /// Passes these bytes, which `Chunk.padding` others follow, if they are next.
  @inline(__always)
  mutating func pass(_ bytes: UnsafePointer<UInt8>, count: Int) -> Bool {
    // The zero bytes after the response are not enough for more.
    guard count <= Chunk.padding || remaining >= count, areEqual(bytes, position, count) else { return false }
    position += count
    return true
  }

  /// Enters the array or object whose bracket is next; returns whether there is anything in it, or else leaves it.
  @inline(__always)
  mutating func enter(until bracket: UInt8) throws(RecordError) -> Bool {
    guard depth < JSONReader.depthLimit else { throw .malformed(nil) }
    position += 1
    guard next() != bracket else {
      position += 1
      return false
    }
    depth += 1
    return true
  }

  /// Passes the comma before another element, and returns true; or leaves the array or object, and returns false.
  @inline(__always)
  mutating func passComma(until bracket: UInt8) throws(RecordError) -> Bool {
    let byte = next()
    position += 1
    if byte == UInt8(ascii: ",") { return true }
    guard byte == bracket else { throw .malformed(nil) }
    depth -= 1
    return false
  }

  /// Skips a string, which is next; returns whether it is plain ASCII without escapes.
  @inline(__always) @discardableResult
  mutating func skipString() throws(RecordError) -> Bool {
    var place = position + 1
    let ones: UInt64 = 0x0101_0101_0101_0101
    while true {
      let word = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self).littleEndian
      // Marks the first quote, backslash, control byte or byte that is not ASCII.
      let quotes = (word ^ (ones &* 0x22)) &- ones
      let backslashes = (word ^ (ones &* 0x5C)) &- ones
      let marks = (quotes | backslashes | (word &- (ones &* 0x20)) | word) & (ones &* 0x80)
      guard marks != 0 else {
        place += 8
        continue
      }
      place += marks.trailingZeroBitCount >> 3
      guard place.pointee == UInt8(ascii: "\"") else {
        try skipHardString()
        return false
      }
      position = place + 1
      return true
    }
  }

  @inline(never)
  private mutating func skipHardString() throws(RecordError) {
    let first = position
    passString()
    try check(from: first)
  }

  /// Goes to the end of a string without a check.
  private mutating func passString() {
    position += 1
    while position < end, position.pointee != UInt8(ascii: "\"") {
      position += position.pointee == UInt8(ascii: "\\") ? 2 : 1
    }
    position = min(position + 1, end)
  }

  /// Checks what has been passed since a place: it must be one value.
  private func check(from first: UnsafePointer<UInt8>) throws(RecordError) {
    let bytes = UnsafeRawBufferPointer(start: first, count: position - first)
    do throws(JSONError) {
      try JSONReader.reading(bytes.bytes) { json throws(JSONError) in try json.skipValue() }
    } catch {
      throw .malformed(nil)
    }
  }

  /// Skips a value of any kind.
  @inline(__always)
  mutating func skipValue() throws(RecordError) {
    switch next() {
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
    case UInt8(ascii: "t"): try skip("true")
    case UInt8(ascii: "f"): try skip("false")
    case UInt8(ascii: "n"): try skip("null")
    case UInt8(ascii: "["): try skipArray()
    case UInt8(ascii: "{"): try skipContainer()
    default: throw .malformed(nil)
    }
  }

  @inline(__always)
  mutating func skip(_ word: StaticString) throws(RecordError) {
    // The word may be compared with the zero bytes after the text.
    guard memcmp(position, word.utf8Start, word.utf8CodeUnitCount) == 0 else { throw .malformed(nil) }
    position += word.utf8CodeUnitCount
  }

  @inline(__always)
  private mutating func skipNumber() throws(RecordError) {
    let first = position
    if position.pointee == UInt8(ascii: "-") { position += 1 }
    let leading = position.pointee
    while position.pointee &- UInt8(ascii: "0") < 10 { position += 1 }
    let byte = position.pointee
    let digits = position - first
    if byte != UInt8(ascii: "."), byte | 0x20 != UInt8(ascii: "e"), digits > 0, leading != UInt8(ascii: "0"),
      leading != UInt8(ascii: "-"), leading &- UInt8(ascii: "0") < 10
    {
      return
    }
    try skipHardNumber(from: first)
  }

  @inline(never)
  private mutating func skipHardNumber(from first: UnsafePointer<UInt8>) throws(RecordError) {
    while true {
      switch position.pointee {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        position += 1
      default: return try check(from: first)
      }
    }
  }

  /// Skips an array, which is next: of strings alone, as a rule.
  @inline(never)
  private mutating func skipArray() throws(RecordError) {
    let first = position
    position += 1
    while depth < JSONReader.depthLimit, next() == UInt8(ascii: "\"") {
      try skipString()
      let byte = next()
      position += 1
      if byte == UInt8(ascii: "]") { return }
      guard byte == UInt8(ascii: ",") else { throw .malformed(nil) }
    }
    position = first
    try skipContainer()
  }

  @inline(never)
  private mutating func skipContainer() throws(RecordError) {
    let rest = UnsafeRawBufferPointer(start: position, count: remaining)
    do throws(JSONError) {
      position += try JSONReader.length(ofValueIn: rest.bytes, depth: depth)
    } catch {
      throw .malformed(nil)
    }
  }

  /// What a string says, with escapes undone, from its bytes with the quotes, which have been checked.
  @inline(never)
  static func unescaped(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let string = try? JSONReader.reading(UnsafeRawBufferPointer(bytes).bytes) { json throws(JSONError) in
      try json.readString()
    }
    return string ?? ""
  }
}
