extension JSONReader {
  /// Passes a value of any kind, which is checked as if it were read.
  public mutating func skipValue() throws(JSONError) {
    let outermost = depth
    // One bit for each open array or object, the innermost lowest: whether it is an object.
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
      case UInt8(ascii: "["):
        try enter()
        isObject <<= 1
      default: try skipScalar()
      }
    } while depth > outermost
  }

  /// Passes a value that is neither array nor object.
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

  /// Reads a value of any kind as its bytes, checked, without the whitespace around it.
  public mutating func readRaw() throws(JSONError) -> RawJSON {
    _ = peek()
    let first = position
    try skipValue()
    return RawJSON(checked: Array(UnsafeBufferPointer(start: first, count: position - first)))
  }
}
