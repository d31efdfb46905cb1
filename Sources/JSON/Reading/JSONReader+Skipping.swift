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
          guard try nextKey() else {
            isObject >>= 1
            continue
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
      default: try skipScalar()
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
    case .number: _ = try scanNumber()
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
}
