/// A JSON text, checked once and cut into tokens, for decoders that read its values in any order.
///
/// An array or object is followed by its elements, or by its keys and values in turn. Places are positions on the tape,
/// offsets are positions in the text.
struct Tape: ~Copyable {
  /// A value or a key.
  struct Token {
    enum Kind: UInt8 {
      case object, array, string, escapedString, number, boolean, null
    }

    let kind: Kind
    /// Whether a string is all ASCII.
    var isASCII = false
    /// For an object: 0 before the first search, 1 if two keys may be equal; otherwise 2 or more, and then it says
    /// which key to look at next.
    fileprivate(set) var search: UInt16 = 0
    /// The offset of its first byte; for a string, of the byte after the quote.
    let offset: UInt32
    /// The number of bytes of a string or number; otherwise the number of elements or members.
    var count: UInt32 = 0
    /// The place after this value and all its contents; for a key, the hash of its name.
    var next: UInt32

    /// The offset at which the token begins, including a string's opening quote.
    var start: Int { Int(offset) - (kind == .string || kind == .escapedString ? 1 : 0) }
  }

  private var tokens: UnsafeMutablePointer<Token>
  private var capacity: Int
  private var count = 0

  /// Cuts the next value of a text into tokens.
  init(_ json: inout JSONReader) throws(JSONError) {
    let length = json.end - json.start
    // Usually enough; if it is too much, the rest is never touched.
    capacity = length / 8 + 8
    tokens = .allocate(capacity: capacity)
    guard length < UInt32.max else { throw json.invalid("less than 4 GiB") }
    // The innermost open array or object. Until it closes, its `next` is the place of the enclosing one, plus 1.
    var container = -1
    var isObject = false
    repeat {
      let place = count
      let kind = try appendValue(of: &json, around: container)
      if kind == .object || kind == .array {
        container = place
        isObject = kind == .object
      }
      while container >= 0 {
        if try isObject ? json.nextKey() : json.nextElement() {
          tokens[container].count += 1
          if isObject { appendKey(of: json) }
          break
        }
        let around = Int(tokens[container].next) - 1
        tokens[container].next = UInt32(truncatingIfNeeded: count)
        container = around
        isObject = around >= 0 && tokens[around].kind == .object
      }
    } while container >= 0
    let end = UInt32(truncatingIfNeeded: length)
    append(Token(kind: .null, offset: end, next: UInt32(truncatingIfNeeded: count + 1)))
  }

  /// The place of a null that is not in the text, used for absent values.
  var absent: Int { count - 1 }

  deinit { tokens.deallocate() }

  /// The token at a place, which must come from another token.
  subscript(place: Int) -> Token {
    @inline(__always)
    get { tokens[place] }
  }

  // MARK: Searching, which notes its state in memory that only the tape owns.

  private static let equalKeys: UInt16 = 1

  /// Whether all keys of an object differ. In rare cases different keys count as equal, since hashes are compared.
  @inline(__always)
  func keysDiffer(in object: Int) -> Bool {
    if tokens[object].search == 0 { tokens[object].search = haveEqualHashes(in: object) ? Self.equalKeys : 3 }
    return tokens[object].search != Self.equalKeys
  }

  /// The place of the next key to look at, or the end of the object.
  @inline(__always)
  func cursor(of object: Int) -> Int { object + Int(tokens[object].search) - 2 }

  /// If the object is too long for the 16-bit number, the search begins at its start.
  @inline(__always)
  func setCursor(of object: Int, to place: Int) {
    tokens[object].search = UInt16(exactly: place - object + 2) ?? 3
  }

  private func haveEqualHashes(in object: Int) -> Bool {
    var place = object + 1
    for _ in 0..<tokens[object].count {
      var other = object + 1
      while other < place {
        if tokens[other].next == tokens[place].next { return true }
        other = Int(tokens[other + 1].next)
      }
      place = Int(tokens[place + 1].next)
    }
    return false
  }

  @inline(__always)
  private mutating func append(_ token: Token) {
    if count == capacity { grow() }
    (tokens + count).initialize(to: token)
    count += 1
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Token>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: tokens, count: count)
    tokens.deallocate()
    tokens = larger
    capacity *= 2
  }

  @inline(__always)
  private mutating func appendKey(of json: borrowing JSONReader) {
    let isEscaped = json.keyShape.hasEscapes
    let bytes = UnsafeBufferPointer(start: json.keyStart, count: json.keyCount)
    append(
      Token(
        kind: isEscaped ? .escapedString : .string, isASCII: json.keyShape.isASCII,
        offset: UInt32(truncatingIfNeeded: json.keyStart - json.start),
        count: UInt32(truncatingIfNeeded: json.keyCount), next: isEscaped ? Self.hash(json.key) : Self.hash(bytes)))
  }

  @inline(__always)
  private mutating func appendValue(
    of json: inout JSONReader, around container: Int
  ) throws(JSONError) -> JSONReader.Kind {
    let kind = try json.nextKind()
    let first = json.position
    let offset = UInt32(truncatingIfNeeded: json.offset)
    let next = UInt32(truncatingIfNeeded: count + 1)
    switch kind {
    case .object, .array:
      try json.enter()
      append(
        Token(
          kind: kind == .object ? .object : .array, offset: offset, next: UInt32(truncatingIfNeeded: container + 1)))
    case .string:
      json.skipQuotationMark()
      let shape = try json.scanString()
      append(
        Token(
          kind: shape.hasEscapes ? .escapedString : .string, isASCII: shape.isASCII, offset: offset + 1,
          count: UInt32(truncatingIfNeeded: json.position - first - 2), next: next))
    case .number, .boolean, .null:
      try json.skipScalar()
      append(
        Token(
          kind: kind == .number ? .number : kind == .null ? .null : .boolean, offset: offset,
          count: UInt32(truncatingIfNeeded: json.position - first), next: next))
    }
    return kind
  }

  /// A hash of a key's bytes: of its length, and of its first and last bytes.
  @inline(__always)
  static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return 0 }
    var mixed =
      bytes.count < 8
      ? UInt64(bytesAt: start, count: bytes.count)
      : UInt64(bytesAt: start) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytesAt: start + (bytes.count - 8))
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
  /// The kind in terms of ``JSONReader/Kind``.
  var asRead: JSONReader.Kind {
    switch self {
    case .object: .object
    case .array: .array
    case .string, .escapedString: .string
    case .number: .number
    case .boolean: .boolean
    case .null: .null
    }
  }
}
