extension JSONReader {
  /// Enters an object; call ``nextKey()`` until it says `false`.
  @inlinable
  public mutating func beginObject() throws(JSONError) {
    guard peek() == UInt8(ascii: "{") else { throw mismatch("an object") }
    try enter()
  }

  /// Reads the next key of the object, or leaves the object and gives `false`.
  ///
  /// After `true` exactly one value must be read or skipped. ``key(is:)`` and ``key`` tell the key until then.
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

  /// Whether the key that ``nextKey()`` read is this one, escapes undone.
  @inlinable @inline(__always)
  public func key(is name: StaticString) -> Bool {
    if keyCount == name.utf8CodeUnitCount, bytesAreEqual(keyStart, name.utf8Start, keyCount) {
      // A key with escapes is another string than its bytes.
      return !keyShape.hasEscapes
    }
    return keyShape.hasEscapes && escapedKey(is: name)
  }

  @usableFromInline @inline(never)
  func escapedKey(is name: StaticString) -> Bool {
    name.withUTF8Buffer { key.utf8.elementsEqual($0) }
  }

  /// The key that ``nextKey()`` read, escapes undone.
  @inlinable
  public var key: String {
    makeString(from: keyStart, count: keyCount, keyShape)
  }

  /// A member's value; throws an error that names the path where there was none.
  @inlinable @inline(__always)
  public mutating func require<Value>(_ value: Value?, _ key: StaticString) throws(JSONError) -> Value {
    guard let value else { throw missing("\(key)") }
    return value
  }

  /// Reads an object for one of its members, and skips the others: `data` with the one field of an operation, say. Of
  /// equal keys the last counts; where there is none, the error names the path and the object's end.
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

  /// Enters an array; call ``nextElement()`` until it says `false`.
  @inlinable
  public mutating func beginArray() throws(JSONError) {
    guard peek() == UInt8(ascii: "[") else { throw mismatch("an array") }
    try enter()
  }

  /// Goes to the array's next element, which then must be read or skipped, or leaves the array and gives `false`.
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
    // What was left was an element of what is around it.
    isFirst = false
  }
}
