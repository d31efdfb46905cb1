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
  // The invariant that keeps every access in bounds: start <= position <= end. Only the methods in JSONReader.swift,
  // JSONReader+Scalars.swift and JSONReader+Plain.swift assign `position`, and each of them checks against `end` before
  // it reads; other files call `goBack(to:)`, which checks. (A private setter could not be used by inlinable methods.)
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

  /// The object of which a `JSONSelection` reads the members. What is rarely needed of it is in the notes: with more than 15
  /// parts, the compiler copies the whole reader wherever one is looked at.
  @usableFromInline var object: OpenObject
  @usableFromInline var notes: SelectionNotes?

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
    object = OpenObject(start: start)
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

  /// Goes back to an offset that has been passed, at which a value begins; `position` cannot leave the text.
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

  /// The kind of a value, by its first byte.
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

extension JSONReader {
  /// Enters an object. Call ``nextKey()`` until it returns `false`.
  @inlinable
  public mutating func beginObject() throws(JSONError) {
    guard peek() == UInt8(ascii: "{") else { throw mismatch("an object") }
    try enter()
  }

  /// Reads the next key of the object and returns `true`, or leaves the object and returns `false`.
  ///
  /// After `true`, exactly one value must be read or skipped. Until then, ``key(is:)`` and ``key`` give the key.
  @inlinable
  public mutating func nextKey() throws(JSONError) -> Bool {
    var byte = peek()
    if byte == UInt8(ascii: "}") {
      leave()
      return false
    }
    if !isFirst {
      guard byte == UInt8(ascii: ",") else { throw malformed("',' or '}'", isOfContainer: true) }
      position += 1
      byte = peek()
    }
    isFirst = false
    guard byte == UInt8(ascii: "\"") else { throw malformed("a key in quotes", isOfContainer: true) }
    position += 1
    keyStart = position
    keyShape = try scanString()
    keyCount = position - keyStart - 1
    if !keyShape.isASCII { try checkKey() }
    guard peek() == UInt8(ascii: ":") else { throw malformed("':'") }
    position += 1
    return true
  }

  /// Whether the key that ``nextKey()`` read equals `name` once its escapes are undone.
  @inlinable @inline(__always)
  public func key(is name: StaticString) -> Bool {
    if keyCount == name.utf8CodeUnitCount, bytesAreEqual(keyStart, name.utf8Start, keyCount) {
      // The bytes of a key with escapes are not its string.
      return !keyShape.hasEscapes
    }
    return keyShape.hasEscapes && escapedKey(is: name)
  }

  @usableFromInline @inline(never)
  func escapedKey(is name: StaticString) -> Bool {
    name.withUTF8Buffer { key.utf8.elementsEqual($0) }
  }

  /// The key that ``nextKey()`` read, with escapes undone.
  @inlinable
  public var key: String {
    makeString(from: keyStart, count: keyCount, keyShape)
  }

  /// Returns a member's value; if it is nil, throws an error that names the path.
  @inlinable @inline(__always)
  public mutating func require<Value>(_ value: Value?, _ key: StaticString) throws(JSONError) -> Value {
    guard let value else { throw missing("\(key)") }
    return value
  }

  /// Reads an object for one of its members, and skips the others: `data` with the only field of an operation, for
  /// example. Of equal keys the last counts. If there is none, the error names the path and the object's end.
  @inlinable
  public mutating func readMember<Value: JSONDecodable>(_ name: StaticString) throws(JSONError) -> Value {
    var value: Value?
    try beginObject()
    while try nextKey() {
      if key(is: name) {
        value = try read(Value.self)
      } else {
        try skipValue()
      }
    }
    return try require(value, name)
  }

  /// Enters an array. Call ``nextElement()`` until it returns `false`.
  @inlinable
  public mutating func beginArray() throws(JSONError) {
    guard peek() == UInt8(ascii: "[") else { throw mismatch("an array") }
    try enter()
  }

  /// Goes to the array's next element, which must then be read or skipped, and returns `true`; or leaves the array and
  /// returns `false`.
  @inlinable
  public mutating func nextElement() throws(JSONError) -> Bool {
    let byte = peek()
    if byte == UInt8(ascii: "]") {
      leave()
      return false
    }
    if isFirst {
      isFirst = false
      return true
    }
    guard byte == UInt8(ascii: ",") else { throw malformed("',' or ']'", isOfContainer: true) }
    position += 1
    guard peek() != UInt8(ascii: "]") else { throw malformed("a value", isOfContainer: true) }
    return true
  }

  @inlinable
  mutating func enter() throws(JSONError) {
    guard depth < Self.depthLimit else { throw tooDeep() }
    depth += 1
    position += 1
    isFirst = true
  }

  @inlinable
  mutating func leave() {
    depth -= 1
    position += 1
    // The array or object that was left was itself an element or a member.
    isFirst = false
  }
}

extension JSONReader {
  /// Skips a value of any kind, checking it as if it were read.
  public mutating func skipValue() throws(JSONError) {
    _ = try passValue()
  }

  /// Skips a value, and returns how deep arrays and objects nest in it. Inlined, so that `skipValue` does not pay for
  /// the depth.
  @inline(__always)
  private mutating func passValue() throws(JSONError) -> Int {
    let outermost = depth
    var deepest = depth
    // One bit for each open array or object, the innermost lowest; set for an object.
    var isObject = UInt128(0)
    repeat {
      if depth > outermost {
        if isObject & 1 == 1 {
          if !passPlainKey() {
            guard try nextKey() else {
              isObject >>= 1
              continue
            }
          }
        } else {
          guard try nextElement() else {
            isObject >>= 1
            continue
          }
        }
      }
      switch peek() {
      case UInt8(ascii: "{"):
        try enter()
        isObject = isObject << 1 | 1
        deepest = max(deepest, depth)
      case UInt8(ascii: "["):
        try enter()
        isObject <<= 1
        deepest = max(deepest, depth)
      default:
        if !passPlainString() { try skipScalar() }
      }
    } while depth > outermost
    return deepest - outermost
  }

  /// Skips a value that is neither array nor object.
  mutating func skipScalar() throws(JSONError) {
    switch try nextKind() {
    case .string:
      position += 1
      _ = try scanString()
    case .number: if takePlainInteger(Int64.self) == nil { _ = try scanNumber() }
    case .boolean: _ = try readBool()
    case .null: _ = try readNull()
    case .array, .object: throw malformed("a plain value")
    }
  }

  /// Reads a value of any kind as its checked bytes, without the whitespace around it.
  public mutating func readRaw() throws(JSONError) -> RawJSON {
    _ = peek()
    let first = position
    let depth = try passValue()
    return RawJSON(checked: Array(UnsafeBufferPointer(start: first, count: position - first)), depth: depth)
  }

  /// Checks the value that a text begins with, which is inside of a number of arrays and objects, and returns how many
  /// bytes it takes. What follows is not looked at.
  package static func length(ofValueIn bytes: RawSpan, depth: Int) throws(JSONError) -> Int {
    try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(JSONError) -> Int in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { throw .empty }
      var reader = JSONReader(start: start, count: bytes.count)
      reader.depth = depth
      _ = try reader.passValue()
      return reader.offset
    }
  }
}

extension JSONReader {
  /// Reads a value whose failure must not fail the rest: a value that does not fit is skipped, and the result says why.
  /// Throws only if the text is not JSON.
  @inlinable
  public mutating func readResult<Value: JSONDecodable>(
    _ type: Value.Type = Value.self
  ) throws(JSONError) -> Result<Value, JSONError> {
    _ = peek()
    let first = position
    let outer = depth
    do throws(JSONError) {
      return .success(try Value(from: &self))
    } catch {
      try skip(from: first, depth: outer)
      return .failure(error)
    }
  }

  /// Reads a value or `null`. A value that does not fit is skipped, and its error returned. Like ``readResult(_:)``,
  /// but for generic code: there, the runtime would look up the type of the `Result` on each call.
  package mutating func read<Value: JSONDecodable>(
    orSkipInto value: inout Value?
  ) throws(JSONError) -> JSONError? {
    value = nil
    guard try !readNull() else { return nil }
    let first = position
    let outer = depth
    do throws(JSONError) {
      value = try Value(from: &self)
      return nil
    } catch {
      try skip(from: first, depth: outer)
      return error
    }
  }

  /// Goes back to a value, and skips it.
  @usableFromInline
  mutating func skip(from first: UnsafePointer<UInt8>, depth outer: Int) throws(JSONError) {
    position = first
    depth = outer
    isFirst = false
    try skipValue()
  }
}

extension JSONReader {
  /// An error for a value of the right kind that a type rejects: `throw json.invalid("a date")`.
  ///
  /// Its place is the reader's position: after a value has been read, that is behind the value, and its path is the
  /// value's.
  public mutating func invalid(_ expected: String) -> JSONError {
    error(.invalid, expected)
  }

  /// An error for a value of another kind than the type reads: `throw json.mismatch("a string or a number")`.
  ///
  /// Its place is the next value, which must not have been read yet.
  @inline(never)
  public mutating func mismatch(_ expected: String) -> JSONError {
    guard let found = kindOfWholeWord() else { return malformed(expected) }
    return error(.mismatch(found), expected)
  }

  /// The kind of the next value by its first byte; `nil` if that begins no value, or if only a part of a word is there.
  private func kindOfWholeWord() -> Kind? {
    var copy = JSONReader(start: position, count: end - position)
    guard let kind = try? copy.nextKind() else { return nil }
    switch kind {
    case .boolean: return copy.take("true") || copy.take("false") ? kind : nil
    case .null: return copy.take("null") ? kind : nil
    default: return kind
    }
  }

  /// `isOfContainer` says that the innermost array or object itself is malformed, and none of its values.
  @usableFromInline @inline(never)
  mutating func malformed(_ expected: String, isOfContainer: Bool = false) -> JSONError {
    JSONError(
      .malformed, path: path(to: offset, isOfContainer: isOfContainer), offset: offset, expected: expected)
  }

  @usableFromInline @inline(never)
  mutating func tooDeep() -> JSONError {
    error(.tooDeep, JSONError.expectedLevels)
  }

  @usableFromInline @inline(never)
  mutating func outOfRange(_ expected: String) -> JSONError {
    error(.outOfRange, expected)
  }

  /// An error for an object that lacks a required key: `throw json.missing("id")`.
  ///
  /// Its place is the object's end; the reader must be directly behind it.
  @inline(never)
  public mutating func missing(_ key: String) -> JSONError {
    let offset = max(offset - 1, 0)
    return JSONError(
      .missing(key: key), path: path(to: offset, isOfContainer: true) + [.key(key)], offset: offset, expected: "a value"
    )
  }

  private mutating func error(_ kind: JSONError.Kind, _ expected: String) -> JSONError {
    JSONError(kind, path: path(to: offset), offset: offset, expected: expected)
  }

  private mutating func path(to offset: Int, isOfContainer: Bool = false) -> [JSONError.PathElement] {
    let search = search ?? JSONPath(of: UnsafeBufferPointer(start: start, count: end - start))
    self.search = search
    return search.path(to: offset, isOfContainer: isOfContainer)
  }
}
