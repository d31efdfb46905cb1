/// Reads a JSON text from front to back, straight into values, without a tree in between.
///
/// It is strict: RFC 8259 to the letter and UTF-8 only, in skipped values, too. A byte order mark at the front is
/// ignored; arrays and objects nest at most ``depthLimit`` deep. A reader is only lent, and cannot be copied: it must
/// not be kept, nor swapped with another one, as it lives no longer than the bytes that it reads.
///
///     extension Point: JSONDecodable {
///       init(from json: inout JSONReader) throws(JSONError) {
///         var x: Double?
///         var y: Double?
///         try json.beginObject()
///         while try json.nextKey() {
///           if json.key(is: "x") {
///             x = try json.readDouble()
///           } else if json.key(is: "y") {
///             y = try json.readDouble()
///           } else {
///             try json.skipValue()
///           }
///         }
///         self.init(x: try json.require(x, "x"), y: try json.require(y, "y"))
///       }
///     }
///     let point = try Point(json: data.bytes)
///
/// If members have equal keys, such a loop keeps the last one.
@frozen
public struct JSONReader: ~Copyable {
  // The invariant that keeps every access in bounds: start <= position <= end. Only the reader's own methods move
  // `position`, and each of them checks against `end` before it reads.
  @usableFromInline let start: UnsafePointer<UInt8>
  @usableFromInline let end: UnsafePointer<UInt8>
  @usableFromInline var position: UnsafePointer<UInt8>

  /// How many arrays and objects are open.
  @usableFromInline var depth = 0
  /// Whether no element has been read since the innermost array or object was entered.
  @usableFromInline var isFirst = false

  // The key that `nextKey` read, without its quotes.
  @usableFromInline var keyStart: UnsafePointer<UInt8>
  @usableFromInline var keyCount = 0
  @usableFromInline var keyShape = StringShape(isASCII: true, hasEscapes: false)

  /// The search for paths, once there has been an error.
  @usableFromInline var search: JSONPath?

  /// How deep arrays and objects may nest: 128.
  @inlinable public static var depthLimit: Int { 128 }

  @inlinable
  init(start: UnsafePointer<UInt8>, count: Int) {
    self.start = start
    end = start + count
    position = start
    keyStart = start
    // RFC 8259, section 8.1: a reader may ignore a byte order mark.
    if count >= 3, start[0] == 0xEF, start[1] == 0xBB, start[2] == 0xBF { position += 3 }
  }

  /// Lends a reader of a JSON text to a closure, which must read the text's one value completely. Anything but
  /// whitespace after the value is an error.
  @inlinable
  public static func reading<Value: ~Copyable>(
    _ bytes: RawSpan, _ body: (inout JSONReader) throws(JSONError) -> Value
  ) throws(JSONError) -> Value {
    try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(JSONError) -> Value in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { throw .empty }
      var reader = JSONReader(start: start, count: bytes.count)
      let value = try body(&reader)
      try reader.finish()
      return value
    }
  }

  /// The number of bytes read so far.
  @inlinable public var offset: Int { position - start }

  /// Goes back to an offset that has been passed, at which a value begins.
  package mutating func goBack(to offset: Int) {
    precondition((0...self.offset).contains(offset), "A reader goes back to a place that it has passed.")
    position = start + offset
  }

  @inlinable
  mutating func finish() throws(JSONError) {
    _ = peek()
    guard position == end else { throw malformed("nothing more") }
  }

  /// The next byte that is not whitespace, or 0 at the end, which matches nothing in JSON's grammar.
  @inlinable @inline(__always)
  mutating func peek() -> UInt8 {
    if position < end, position.pointee > UInt8(ascii: " ") { return position.pointee }
    return skipWhitespace()
  }

  @inlinable
  mutating func skipWhitespace() -> UInt8 {
    while position < end {
      switch position.pointee {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
      case let byte: return byte
      }
    }
    return 0
  }

  /// Skips the bytes of `literal` if they come next, and returns whether they did.
  @inlinable @inline(__always)
  mutating func take(_ literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard end - position >= count, bytesAreEqual(position, literal.utf8Start, count) else { return false }
    position += count
    return true
  }
}

extension JSONReader {
  /// Reads a value of any ``JSONDecodable`` type.
  @inlinable @inline(__always)
  public mutating func read<Value: JSONDecodable>(_ type: Value.Type = Value.self) throws(JSONError) -> Value {
    try Value(from: &self)
  }

  /// Reads `null` if it is next, and returns whether it was.
  @inlinable
  public mutating func readNull() throws(JSONError) -> Bool {
    guard peek() == UInt8(ascii: "n") else { return false }
    guard take("null") else { throw malformed("null") }
    return true
  }

  /// Reads `true` or `false`.
  @inlinable
  public mutating func readBool() throws(JSONError) -> Bool {
    switch peek() {
    case UInt8(ascii: "t") where take("true"): return true
    case UInt8(ascii: "f") where take("false"): return false
    default: throw mismatch("true or false")
    }
  }

  /// The kind of a value, as its first byte tells.
  public enum Kind: Hashable, Sendable {
    /// `{…}`
    case object
    /// `[…]`
    case array
    /// `"…"`
    case string
    /// A number.
    case number
    /// `true` or `false`
    case boolean
    /// `null`
    case null
  }

  /// The kind of the next value, for types that can be read from more than one kind. Reads nothing.
  @inlinable
  public mutating func nextKind() throws(JSONError) -> Kind {
    switch peek() {
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
    case UInt8(ascii: "n"): return .null
    default: throw malformed("a value")
    }
  }
}
