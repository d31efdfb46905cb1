public import SystemBase

/// Writes a JSON text from front to back, in its shortest form, into memory that it hands over at the end.
///
/// A value that JSON cannot express, such as a number that is not finite, is written as `null` and makes ``finish()``
/// throw. So does nesting deeper than ``JSONReader/depthLimit``, below which `write` writes nothing more, and a key that
/// no ``JSONReader`` would read, with more than 30 combining characters in a row.
@frozen
public struct JSONWriter: ~Copyable {
  // The invariant that keeps every access in bounds: count <= capacity, and every write is preceded by `reserve`.
  @usableFromInline var buffer: UnsafeMutablePointer<UInt8>
  @usableFromInline var capacity: Int
  @usableFromInline var count = 0
  @usableFromInline var depth = 0
  /// Whether the next value of the innermost array or object needs a comma before it.
  @usableFromInline var needsComma = false
  @usableFromInline var failure: JSONError?
  /// Where the value began that is written now: the path of a failure leads from there.
  @usableFromInline var origin = 0

  /// Makes a writer with room for `capacity` bytes; it grows when it needs more.
  @inlinable
  public init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    buffer = .allocate(self.capacity)
  }

  @inlinable
  deinit {
    // Without capacity, the memory has been handed over.
    if capacity > 0 { free(buffer) }
  }

  /// The number of bytes written so far.
  @inlinable public var offset: Int { count }

  /// The bytes written so far.
  var written: [UInt8] { Array(UnsafeBufferPointer(start: buffer, count: count)) }

  /// The text; if something could not be written, throws an error with its place.
  @inlinable
  public consuming func finish() throws(JSONError) -> Data {
    if let failure { throw failure }
    capacity = 0
    return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
  }

  /// Makes room for `bytes` more bytes.
  @inlinable @inline(__always)
  mutating func reserve(_ bytes: Int) {
    if capacity - count < bytes { grow(by: bytes) }
  }

  @usableFromInline @inline(never)
  mutating func grow(by bytes: Int) {
    capacity = max(capacity * 2, count + bytes)
    guard let larger = realloc(buffer, capacity) else { fatalError("No memory for \(capacity) bytes of JSON.") }
    buffer = larger.assumingMemoryBound(to: UInt8.self)
  }

  @inlinable @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    buffer[count] = byte
    count += 1
  }

  @inlinable @inline(__always)
  mutating func append(_ bytes: UnsafePointer<UInt8>, count length: Int) {
    reserve(length)
    memcpy(buffer + count, bytes, length)
    count += length
  }

  @inlinable @inline(__always)
  mutating func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Writes the comma before a value or key, if one is needed.
  @inlinable @inline(__always)
  mutating func separate() {
    if needsComma { append(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// Reports that the next value cannot be written; only the first such failure is kept. Types call it before they
  /// write something in the value's place.
  public mutating func fail(expected: String) {
    fail(.invalid, expected: expected)
  }

  private mutating func fail(_ kind: JSONError.Kind, expected: String) {
    guard failure == nil else { return }
    let text = UnsafeBufferPointer(start: buffer + origin, count: count - origin)
    var path = JSONPath(of: text).path(to: text.count)
    // The comma before the value has not been written yet.
    if needsComma, case .index(let index) = path.last { path[path.count - 1] = .index(index + 1) }
    failure = JSONError(kind, path: path, offset: count + (needsComma ? 1 : 0), expected: expected)
  }
}

extension UnsafeMutablePointer<UInt8> {
  @usableFromInline
  static func allocate(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
    guard let memory = malloc(capacity) else { fatalError("No memory for \(capacity) bytes of JSON.") }
    return memory.assumingMemoryBound(to: UInt8.self)
  }
}

extension JSONWriter {
  /// Begins an object; its members follow, then ``endObject()``.
  @inlinable
  public mutating func beginObject() {
    begin(UInt8(ascii: "{"))
  }

  /// Ends the innermost object.
  @inlinable
  public mutating func endObject() {
    end(UInt8(ascii: "}"))
  }

  /// Begins an array; its elements follow, then ``endArray()``.
  @inlinable
  public mutating func beginArray() {
    begin(UInt8(ascii: "["))
  }

  /// Ends the innermost array.
  @inlinable
  public mutating func endArray() {
    end(UInt8(ascii: "]"))
  }

  @inlinable
  mutating func begin(_ bracket: UInt8) {
    if depth >= JSONReader.depthLimit { failTooDeep() }
    depth += 1
    separate()
    append(bracket)
    needsComma = false
  }

  @usableFromInline
  mutating func failTooDeep() {
    fail(.tooDeep, expected: JSONError.expectedLevels)
  }

  /// Whether arrays and objects nest deeper than they may, so that nothing may go deeper: what is written is dropped.
  @inlinable @inline(__always)
  var isTooDeep: Bool { depth > JSONReader.depthLimit }

  @inlinable
  mutating func end(_ bracket: UInt8) {
    depth -= 1
    append(bracket)
    needsComma = true
  }

  /// Writes a key; its value must follow.
  @inlinable
  public mutating func writeKey(_ key: StaticString) {
    if writeShortKey(key.utf8Start, count: key.utf8CodeUnitCount) { return }
    separate()
    appendText(key.utf8Start, count: key.utf8CodeUnitCount)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a key of at most eight bytes as one word. Returns false, without writing, for others.
  @usableFromInline
  mutating func writeShortKey(_ bytes: UnsafePointer<UInt8>, count length: Int) -> Bool {
    guard length <= 8 else { return false }
    let word = length == 8 ? UInt64(bytesAt: bytes) : UInt64(bytesAt: bytes, count: length)
    guard word.firstEscapedInString == 0 else { return false }
    reserve(1 + 1 + 8 + 2)
    if needsComma {
      buffer[count] = UInt8(ascii: ",")
      count += 1
    }
    let place = buffer + count
    place[0] = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(place + 1).storeBytes(of: word.littleEndian, as: UInt64.self)
    place[length + 1] = UInt8(ascii: "\"")
    place[length + 2] = UInt8(ascii: ":")
    count += length + 3
    needsComma = false
    return true
  }

  /// Writes a key; its value must follow.
  public mutating func writeKey(_ key: String) {
    if !key.isName { fail(expected: String.expectedOfKeys) }
    writeName(key)
  }

  /// Writes a key that is a name.
  mutating func writeName(_ key: String) {
    writeString(key)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a member of an object.
  @inlinable @inline(__always)
  public mutating func write(_ key: StaticString, _ value: some JSONEncodable) {
    writeKey(key)
    write(value)
  }

  /// Writes a member of an object, or nothing if the value is nil.
  @inlinable @inline(__always)
  public mutating func write(_ key: StaticString, ifPresent value: (some JSONEncodable)?) {
    if let value { write(key, value) }
  }
}

extension JSONWriter {
  /// Writes a value of any ``JSONEncodable`` type.
  @inlinable @inline(__always)
  public mutating func write(_ value: some JSONEncodable) {
    if isTooDeep { return }
    value.encode(to: &self)
  }

  /// Writes `null`.
  @inlinable
  public mutating func writeNull() {
    separate()
    append("null")
  }

  /// Writes `true` or `false`.
  @inlinable
  public mutating func writeBool(_ value: Bool) {
    separate()
    append(value ? "true" : "false")
  }

  /// Writes a whole number.
  @inlinable
  public mutating func writeInteger<Value: FixedWidthInteger>(_ value: Value) {
    if let value = Int64(exactly: value) {
      write(magnitude: value.magnitude, isNegative: value < 0)
    } else if let value = UInt64(exactly: value) {
      write(magnitude: value, isNegative: false)
    } else {
      writeNumber(String(value))
    }
  }

  @usableFromInline
  mutating func write(magnitude: UInt64, isNegative: Bool) {
    separate()
    reserve(1 + Self.greatestDigits)
    if isNegative {
      buffer[count] = UInt8(ascii: "-")
      count += 1
    }
    appendDigits(magnitude)
  }

  private static var greatestDigits: Int { 20 }

  /// Appends a whole number; the room must be reserved.
  @inline(__always)
  private mutating func appendDigits(_ magnitude: UInt64) {
    count += magnitude.decimalDigits
    var place = buffer + count
    var rest = magnitude
    while rest >= 100 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      place -= 2
      Self.write(pair: pair, to: place)
      rest = quotient
    }
    if rest >= 10 {
      place[-1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      place -= 1
      rest /= 10
    }
    place[-1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)
  }

  /// Writes the two digits of a number below 100.
  @inline(__always)
  private static func write(pair: UInt64, to place: UnsafeMutablePointer<UInt8>) {
    place[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: pair / 10)
    place[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: pair % 10)
  }

  /// Writes a number with the fewest digits from which it is read back unchanged.
  public mutating func writeDouble(_ value: Double) {
    if !writeDecimal(value) { writeFloatingPoint(value) }
  }

  /// Writes a number with at most six decimals and 15 digits, as most numbers that people enter have. Returns false,
  /// without writing, for others.
  ///
  /// A number with so few digits is the only one that they stand for, and no shorter digits stand for it. So if reading
  /// the digits gives the number back, they are the shortest.
  private mutating func writeDecimal(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    guard magnitude >= 1e-3, magnitude < 1e9 else { return false }
    let millionths = UInt64(magnitude * 1e6 + 0.5)
    guard Double(millionths) / 1e6 == magnitude else { return false }
    let (whole, fraction) = millionths.quotientAndRemainder(dividingBy: 1_000_000)
    separate()
    reserve(1 + Self.greatestDigits + 8)
    if value < 0 {
      buffer[count] = UInt8(ascii: "-")
      count += 1
    }
    appendDigits(whole)
    guard fraction > 0 else { return true }
    buffer[count] = UInt8(ascii: ".")
    let decimals = buffer + count + 1
    Self.write(pair: fraction / 10_000, to: decimals)
    Self.write(pair: fraction / 100 % 100, to: decimals + 2)
    Self.write(pair: fraction % 100, to: decimals + 4)
    var length = 6
    while decimals[length - 1] == UInt8(ascii: "0") { length -= 1 }
    count += 1 + length
    return true
  }

  /// Writes a number with the fewest digits from which it is read back unchanged.
  public mutating func writeFloat(_ value: Float) {
    writeFloatingPoint(value)
  }

  private mutating func writeFloatingPoint(_ value: some BinaryFloatingPoint & TextOutputStreamable) {
    guard value.isFinite else { return writeInfinite() }
    separate()
    reserve(NumberText.capacity)
    var text = NumberText(end: buffer + count)
    value.write(to: &text)
    count = text.lengthWithoutZeroFraction(from: buffer + count) + count
  }

  private mutating func writeInfinite() {
    fail(expected: "a number that is finite")
    writeNull()
  }

  /// Writes the JSON text of a number, without a fraction of `.0`.
  @usableFromInline
  mutating func writeNumber(_ text: String) {
    separate()
    var text = text
    text.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return }
      let isWhole =
        bytes.count > 2 && bytes[bytes.count - 1] == UInt8(ascii: "0") && bytes[bytes.count - 2] == UInt8(ascii: ".")
      append(start, count: bytes.count - (isWhole ? 2 : 0))
    }
  }

  /// Writes JSON that has already been written or checked, unchanged.
  public mutating func writeRaw(_ raw: RawJSON) {
    if depth + raw.depth > JSONReader.depthLimit { failTooDeep() }
    separate()
    raw.bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      append(start, count: bytes.count)
    }
  }
}

extension UInt64 {
  /// The number of decimal digits.
  @inline(__always)
  fileprivate var decimalDigits: Int {
    guard self >= 100_000_000 else { return shortDigits }
    let (high, _) = quotientAndRemainder(dividingBy: 100_000_000)
    guard high >= 100_000_000 else { return 8 + high.shortDigits }
    return 16 + (high / 100_000_000).shortDigits
  }

  /// The number of decimal digits of a number with at most eight.
  @inline(__always)
  private var shortDigits: Int {
    if self < 10_000 { return self < 100 ? (self < 10 ? 1 : 2) : (self < 1000 ? 3 : 4) }
    return self < 1_000_000 ? (self < 100_000 ? 5 : 6) : (self < 10_000_000 ? 7 : 8)
  }
}

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

/// Writes the digits of a number directly to their place: a `String` in between would cost an allocation for each
/// number.
struct NumberText: TextOutputStream {
  /// More than the text of any `Double` or `Float` needs.
  static let capacity = 40
  private var end: UnsafeMutablePointer<UInt8>
  private let limit: UnsafeMutablePointer<UInt8>

  /// Writes from a place on at which there is room.
  init(end: UnsafeMutablePointer<UInt8>) {
    self.end = end
    limit = end + Self.capacity
  }

  /// The standard library calls this for strings that it knows to be ASCII.
  mutating func _writeASCII(_ buffer: UnsafeBufferPointer<UInt8>) {
    guard let start = buffer.baseAddress, buffer.count <= limit - end else { return }
    end.update(from: start, count: buffer.count)
    end += buffer.count
  }

  mutating func write(_ string: String) {
    var string = string
    string.withUTF8 { _writeASCII($0) }
  }

  /// The length of the text without a fraction of `.0`.
  func lengthWithoutZeroFraction(from start: UnsafeMutablePointer<UInt8>) -> Int {
    let length = end - start
    guard length > 2, end[-1] == UInt8(ascii: "0"), end[-2] == UInt8(ascii: ".") else { return length }
    return length - 2
  }
}
