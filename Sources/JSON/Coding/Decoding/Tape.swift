/// A JSON text, checked once and cut into tokens, for decoders that ask for its values in an order of their own.
///
/// An array or object is followed by its elements, or by its keys and values in turn.
struct Tape {
  /// A value or a key.
  struct Token {
    enum Kind: UInt8 {
      case object, array, string, escapedString, number, boolean, null
    }

    let kind: Kind
    /// Whether a text is all ASCII.
    var isASCII = false
    /// Where its first byte is; for a text the one behind the quote.
    let offset: UInt32
    /// The bytes of a text or a number; the number of elements or members.
    var count: UInt32 = 0
    /// The place on the tape behind the whole of it; for a key the hash of its text.
    var next: UInt32
  }

  private(set) var tokens: ContiguousArray<Token> = []
  /// The arrays and objects that are open while the tape is made.
  private var open: [Int] = []

  /// Cuts a whole text.
  init(_ json: inout JSONReader) throws(JSONError) {
    let count = json.end - json.start
    guard count <= UInt32.max else { throw json.invalid("less than 4 GiB") }
    tokens.reserveCapacity(count / 12 + 8)
    repeat {
      if let container = open.last {
        let isObject = tokens[container].kind == .object
        guard try isObject ? json.nextKey() : json.nextElement() else {
          tokens[container].next = UInt32(truncatingIfNeeded: tokens.count)
          open.removeLast()
          continue
        }
        tokens[container].count += 1
        if isObject { appendKey(of: json) }
      }
      try appendValue(of: &json)
    } while !open.isEmpty
  }

  private mutating func appendKey(of json: borrowing JSONReader) {
    let bytes = UnsafeBufferPointer(start: json.keyStart, count: json.keyCount)
    let hash = json.keyShape.hasEscapes ? Self.hash(json.key) : Self.hash(bytes)
    tokens.append(
      Token(
        kind: json.keyShape.hasEscapes ? .escapedString : .string, isASCII: json.keyShape.isASCII,
        offset: UInt32(truncatingIfNeeded: json.keyStart - json.start),
        count: UInt32(truncatingIfNeeded: json.keyCount),
        next: hash))
  }

  private mutating func appendValue(of json: inout JSONReader) throws(JSONError) {
    let kind = try json.nextKind()
    let offset = json.offset
    var token = Token(
      kind: Token.Kind(kind), offset: UInt32(truncatingIfNeeded: offset),
      next: UInt32(truncatingIfNeeded: tokens.count + 1))
    switch kind {
    case .object, .array:
      try json.enter()
      open.append(tokens.count)
    case .string:
      json.position += 1
      let shape = try json.scanString()
      token = Token(
        kind: shape.hasEscapes ? .escapedString : .string, isASCII: shape.isASCII,
        offset: UInt32(truncatingIfNeeded: offset + 1), count: UInt32(truncatingIfNeeded: json.offset - offset - 2),
        next: token.next)
    case .number, .boolean, .null:
      try json.skipScalar()
      token.count = UInt32(truncatingIfNeeded: json.offset - offset)
    }
    tokens.append(token)
  }

  /// A hash of a key's bytes: its length, its first and its last ones.
  static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return 0 }
    let end = start + bytes.count
    var mixed: UInt64
    if bytes.count >= 8 {
      mixed = UInt64(bytesAt: start) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytesAt: end - 8)
    } else {
      mixed = 0
      for byte in bytes { mixed = mixed << 8 | UInt64(byte) }
    }
    mixed = (mixed ^ UInt64(bytes.count)) &* 0x9E37_79B9_7F4A_7C15
    return UInt32(truncatingIfNeeded: mixed >> 32)
  }

  /// A hash of a key.
  static func hash(_ key: String) -> UInt32 {
    var key = key
    return key.withUTF8 { hash($0) }
  }
}

extension Tape.Token.Kind {
  fileprivate init(_ kind: JSONReader.Kind) {
    switch kind {
    case .object: self = .object
    case .array: self = .array
    case .string: self = .string
    case .number: self = .number
    case .boolean: self = .boolean
    case .null: self = .null
    }
  }

  /// The kind in words.
  var name: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string, .escapedString: "a text"
    case .number: "a number"
    case .boolean: "true or false"
    case .null: "null"
    }
  }
}
