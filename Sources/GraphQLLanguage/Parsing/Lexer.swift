/// What a token is (GraphQL specification, section 2.1.6).
enum Token: UInt8 {
  case end, name, int, float, string, blockString
  case bang, dollar, ampersand, leftParenthesis, rightParenthesis, spread, colon, equals, at
  case leftBracket, rightBracket, leftBrace, pipe, rightBrace

  /// The token as messages name it, where its own text does not say more.
  var name: String {
    switch self {
    case .end: "the end of the text"
    case .name: "a name"
    case .int: "an integer"
    case .float: "a number"
    case .string, .blockString: "a string"
    case .bang: "\"!\""
    case .dollar: "\"$\""
    case .ampersand: "\"&\""
    case .leftParenthesis: "\"(\""
    case .rightParenthesis: "\")\""
    case .spread: "\"...\""
    case .colon: "\":\""
    case .equals: "\"=\""
    case .at: "\"@\""
    case .leftBracket: "\"[\""
    case .rightBracket: "\"]\""
    case .leftBrace: "\"{\""
    case .pipe: "\"|\""
    case .rightBrace: "\"}\""
    }
  }
}

/// Reads one token after another.
///
/// The text has a zero byte after its end: every loop stops there at the latest, so that no byte is read beyond it.
/// That is what makes the plain pointer safe, and a parser in a debug build fast enough for a tool.
struct Lexer {
  private let bytes: UnsafePointer<UInt8>
  private let count: Int
  private let tokenLimit: Int
  private var tokens = 0
  /// The comments up to the token, without white space at their ends, if they are wanted.
  private var comments: [Range<Int>]?

  /// The token that was read last, and the bytes that it takes.
  private(set) var token = Token.end
  private(set) var start = 0
  private(set) var end = 0
  /// Where the token before it ended.
  private(set) var previousEnd = 0

  init(_ bytes: UnsafePointer<UInt8>, count: Int, tokenLimit: Int) {
    self.bytes = bytes
    self.count = count
    self.tokenLimit = tokenLimit
  }

  /// The text of the token.
  var text: String { text(start..<end) }

  func text(_ range: Range<Int>) -> String {
    String(decoding: UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count), as: UTF8.self)
  }

  /// Whether the token is a name that is spelt like a keyword.
  func isKeyword(_ keyword: StaticString) -> Bool {
    guard token == .name, end - start == keyword.utf8CodeUnitCount else { return false }
    for index in 0..<keyword.utf8CodeUnitCount where bytes[start + index] != keyword.utf8Start[index] { return false }
    return true
  }

  /// Reads the next token.
  mutating func advance() throws(GraphQLSyntaxError) {
    previousEnd = end
    try skipIgnored()
    tokens += 1
    if tokens > tokenLimit, start < count {
      throw error("the text has more than \(tokenLimit) tokens, which is the limit", at: start)
    }
    switch bytes[start] {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
      token = .name
      end = start + 1
      while bytes[end].isNameByte { end += 1 }
    case UInt8(ascii: "{"): punctuator(.leftBrace)
    case UInt8(ascii: "}"): punctuator(.rightBrace)
    case UInt8(ascii: "("): punctuator(.leftParenthesis)
    case UInt8(ascii: ")"): punctuator(.rightParenthesis)
    case UInt8(ascii: ":"): punctuator(.colon)
    case UInt8(ascii: "!"): punctuator(.bang)
    case UInt8(ascii: "["): punctuator(.leftBracket)
    case UInt8(ascii: "]"): punctuator(.rightBracket)
    case UInt8(ascii: "$"): punctuator(.dollar)
    case UInt8(ascii: "="): punctuator(.equals)
    case UInt8(ascii: "@"): punctuator(.at)
    case UInt8(ascii: "|"): punctuator(.pipe)
    case UInt8(ascii: "&"): punctuator(.ampersand)
    case UInt8(ascii: "\""):
      if bytes[start + 1] == UInt8(ascii: "\""), bytes[start + 2] == UInt8(ascii: "\"") {
        try readBlockString()
      } else {
        try readString()
      }
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): try readNumber()
    case UInt8(ascii: "."):
      guard bytes[start + 1] == UInt8(ascii: "."), bytes[start + 2] == UInt8(ascii: ".") else {
        throw error("expected \"...\", found \(description(ofCharacterAt: start))", at: start)
      }
      token = .spread
      end = start + 3
    case 0 where start == count:
      token = .end
      end = start
    default:
      throw error("found \(description(ofCharacterAt: start)), which is no part of the language", at: start)
    }
  }

  private mutating func punctuator(_ token: Token) {
    self.token = token
    end = start + 1
  }

  /// White space, line ends, commas, comments and byte order marks (sections 2.1.1 to 2.1.7).
  private mutating func skipIgnored() throws(GraphQLSyntaxError) {
    var position = end
    while true {
      switch bytes[position] {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: ","), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
        position += 1
      case UInt8(ascii: "#"):
        let start = position
        position += 1
        while bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r"), !isEnd(position) {
          position += 1
        }
        if comments != nil { appendComment(start, position) }
      case 0xEF where bytes[position + 1] == 0xBB && bytes[position + 2] == 0xBF: position += 3
      default:
        start = position
        return
      }
    }
  }

  private mutating func appendComment(_ start: Int, _ end: Int) {
    var end = end
    while bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") { end -= 1 }
    comments?.append(start..<end)
  }

  /// The comments of a text, which has been parsed before.
  static func comments(in bytes: UnsafePointer<UInt8>, count: Int) -> [Range<Int>] {
    var lexer = Lexer(bytes, count: count, tokenLimit: .max)
    lexer.comments = []
    repeat {
      guard (try? lexer.advance()) != nil else { break }
    } while lexer.token != .end
    return lexer.comments ?? []
  }

  @inline(__always)
  private func isEnd(_ position: Int) -> Bool { bytes[position] == 0 && position >= count }
}

// MARK: - Numbers (sections 2.9.1 and 2.9.2)

extension Lexer {
  private mutating func readNumber() throws(GraphQLSyntaxError) {
    token = .int
    end = start
    if bytes[end] == UInt8(ascii: "-") { end += 1 }
    if bytes[end] == UInt8(ascii: "0") {
      end += 1
      if bytes[end].isDigitByte {
        throw error("expected the end of the number, which begins with 0, found another digit", at: end)
      }
    } else {
      try readDigits()
    }
    if bytes[end] == UInt8(ascii: ".") {
      token = .float
      end += 1
      try readDigits()
    }
    if bytes[end] | 0x20 == UInt8(ascii: "e") {
      token = .float
      end += 1
      if bytes[end] == UInt8(ascii: "+") || bytes[end] == UInt8(ascii: "-") { end += 1 }
      try readDigits()
    }
    if bytes[end] == UInt8(ascii: ".") || bytes[end].isNameByte {
      throw error("expected the end of the number, found \(description(ofCharacterAt: end))", at: end)
    }
  }

  private mutating func readDigits() throws(GraphQLSyntaxError) {
    guard bytes[end].isDigitByte else {
      throw error("expected a digit of the number, found \(description(ofCharacterAt: end))", at: end)
    }
    while bytes[end].isDigitByte { end += 1 }
  }
}

// MARK: - Strings (section 2.9.4)

extension Lexer {
  private mutating func readString() throws(GraphQLSyntaxError) {
    token = .string
    var position = start + 1
    while true {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        end = position + 1
        return
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        throw error("the string is not closed before the line ends", at: position)
      case UInt8(ascii: "\\"): position = try skipEscape(position)
      case 0 where position >= count: throw error("the string is not closed before the text ends", at: position)
      default: position += 1
      }
    }
  }

  private mutating func readBlockString() throws(GraphQLSyntaxError) {
    token = .blockString
    var position = start + 3
    while true {
      switch bytes[position] {
      case UInt8(ascii: "\"")
      where bytes[position + 1] == UInt8(ascii: "\"") && bytes[position + 2] == UInt8(ascii: "\""):
        end = position + 3
        return
      case UInt8(ascii: "\\")
      where bytes[position + 1] == UInt8(ascii: "\"") && bytes[position + 2] == UInt8(ascii: "\"")
        && bytes[position + 3] == UInt8(ascii: "\""):
        position += 4
      case 0 where position >= count: throw error("the block string is not closed before the text ends", at: position)
      default: position += 1
      }
    }
  }

  /// Checks the escape sequence at a backslash; the position after it.
  private func skipEscape(_ start: Int) throws(GraphQLSyntaxError) -> Int {
    switch bytes[start + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return start + 2
    case UInt8(ascii: "u"):
      guard let (_, next) = UnicodeEscape.read(UnsafeBufferPointer(start: bytes, count: count), at: start) else {
        var end = start + 2
        while end < min(start + 12, count), bytes[end].isNameByte || bytes[end] == UInt8(ascii: "{") { end += 1 }
        if bytes[end] == UInt8(ascii: "}") { end += 1 }
        throw error("the escape sequence \"\(text(start..<end))\" is no Unicode scalar value", at: start)
      }
      return next
    default:
      throw error(
        "expected an escape sequence such as \\n, found \(description(ofCharacterAt: start + 1)) after the backslash",
        at: start)
    }
  }
}

// MARK: - Messages

extension Lexer {
  func error(_ message: String, at offset: Int) -> GraphQLSyntaxError {
    let source = Array(UnsafeBufferPointer(start: bytes, count: count))
    return GraphQLSyntaxError(message, at: LineTable(source, count: count).location(of: offset, in: source))
  }

  /// The token as a message shows it; a long one is cut.
  var found: String {
    switch token {
    case .name, .int, .float:
      end - start > 60 ? "\"\(text(start..<start + 60))…\"" : "\"\(text)\""
    default: token.name
    }
  }

  private func description(ofCharacterAt offset: Int) -> String {
    if offset >= count { return "the end of the text" }
    let rest = UnsafeBufferPointer(start: bytes + offset, count: min(4, count - offset))
    guard let scalar = String(decoding: rest, as: UTF8.self).unicodeScalars.first else { return "nothing" }
    if scalar.value > 0x20, scalar.value != 0x7F, scalar.isASCII { return "\"\(scalar)\"" }
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "the character U+\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)"
  }
}

extension UInt8 {
  /// Whether a name may have this byte after its first.
  @inline(__always)
  var isNameByte: Bool {
    // One bit for each of the ASCII characters.
    let bits: UInt64 = self < 64 ? 0x03FF_0000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
    return self < 128 && bits >> UInt64(self & 63) & 1 == 1
  }

  @inline(__always)
  var isDigitByte: Bool { self &- UInt8(ascii: "0") < 10 }
}
