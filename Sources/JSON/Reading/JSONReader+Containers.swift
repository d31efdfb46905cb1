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
      guard byte == UInt8(ascii: ",") else { throw malformed("',' or '}'") }
      position += 1
      byte = peek()
    }
    isFirst = false
    guard byte == UInt8(ascii: "\"") else { throw malformed("a key in quotes") }
    position += 1
    keyStart = position
    keyShape = try scanString()
    keyCount = position - keyStart - 1
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
    guard byte == UInt8(ascii: ",") else { throw malformed("',' or ']'") }
    position += 1
    guard peek() != UInt8(ascii: "]") else { throw malformed("a value") }
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
