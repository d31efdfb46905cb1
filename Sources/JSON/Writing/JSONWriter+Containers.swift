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
    fail(expected: "less than \(JSONReader.depthLimit) levels")
  }

  @inlinable
  mutating func end(_ bracket: UInt8) {
    depth -= 1
    append(bracket)
    needsComma = true
  }

  /// Writes a key; its value must follow.
  @inlinable
  public mutating func writeKey(_ key: StaticString) {
    separate()
    appendText(key.utf8Start, count: key.utf8CodeUnitCount)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a key; its value must follow.
  public mutating func writeKey(_ key: String) {
    writeString(key)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a member of an object.
  @inlinable @inline(__always)
  public mutating func write(_ key: StaticString, _ value: some JSONEncodable) {
    writeKey(key)
    value.encode(to: &self)
  }

  /// Writes a member of an object, or nothing if the value is nil.
  @inlinable @inline(__always)
  public mutating func write(_ key: StaticString, ifPresent value: (some JSONEncodable)?) {
    if let value { write(key, value) }
  }
}
