import GraphQLCommandLine
import GraphQLLanguage
import HTTPClientCore
import SystemBase

/// The string literals of a Swift file that are GraphQL documents, with the texts that the program has.
///
/// It reads comments, literals and words, and nothing else of Swift: which literals are joined to one document, only the
/// compiler knows. So each is a document of its own here, and a literal that may be one and cannot be read is named.
struct SwiftLiterals {
  /// A literal that is a document.
  struct Literal {
    let text: [UInt8]
    /// Where its lines, and what follows an escape, stand in the file.
    let anchors: [Anchor]
  }

  /// From this place in a literal's text on, and up to the end of the line, what is `n` columns further stands in the
  /// file `n` columns further, too.
  struct Anchor {
    let inText: SourceLocation
    let inFile: SourceLocation
  }

  private(set) var documents: [Literal] = []
  /// Places of literals that may be documents, and why they cannot be read.
  private(set) var unread: [(place: SourceLocation, reason: String)] = []
  /// Places of texts in braces that could be queries, but perhaps are templates.
  private(set) var braces: [SourceLocation] = []
  /// Where the file names the types of sessions and documents.
  private(set) var mentions: [SourceLocation] = []

  private static let types: Set<String> = ["GraphQLDocument", "GraphQLSession", "GraphQLSubscription"]

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var lineStart = 0
  private var columns = Columns()

  init(_ input: Input) {
    // A literal has the line ends of Swift, whatever those of the file are.
    bytes = Array(
      String(decoding: input.bytes, as: UTF8.self).replacing("\r\n", with: "\n").replacing("\r", with: "\n").utf8)
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "/") where starts(with: "//"): while let next = peek(), next != .lineFeed { advance() }
      case UInt8(ascii: "/") where starts(with: "/*"): skipComment()
      case UInt8(ascii: "\""), UInt8(ascii: "#"): readLiteral()
      case _ where byte.isPartOfWord: readWord()
      default: advance()
      }
    }
    guard !mentions.isEmpty else { return }
    unread += braces.map { ($0, "it may be a query: begin it with that word, so that this is clear") }
  }

  // MARK: - The file

  private func peek(_ offset: Int = 0) -> UInt8? {
    position + offset < bytes.count ? bytes[position + offset] : nil
  }

  private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

  private mutating func advance(by count: Int = 1) {
    for _ in 0..<count where position < bytes.count {
      if bytes[position] == .lineFeed { (line, lineStart) = (line + 1, position + 1) }
      position += 1
    }
  }

  private mutating func place() -> SourceLocation {
    SourceLocation(line: line, column: columns.column(of: position, from: lineStart, in: bytes))
  }

  private mutating func readWord() {
    let word = bytes[position...].prefix { $0.isPartOfWord }
    if Self.types.contains(String(decoding: word, as: UTF8.self)) { mentions.append(place()) }
    advance(by: word.count)
  }

  private mutating func skipComment() {
    var depth = 0
    repeat {
      let isStart = starts(with: "/*")
      let isEnd = starts(with: "*/")
      depth += isStart ? 1 : isEnd ? -1 : 0
      advance(by: isStart || isEnd ? 2 : 1)
    } while depth > 0 && peek() != nil
  }

  // MARK: - Literals

  /// What encloses a literal.
  private struct Fence {
    let escape: [UInt8]
    let end: [UInt8]
    let isMultiline: Bool
  }

  /// The opening of a literal that begins here, which is then behind; `nil` for anything else.
  private mutating func readFence() -> Fence? {
    var pounds = 0
    while peek(pounds) == UInt8(ascii: "#") { pounds += 1 }
    guard peek(pounds) == UInt8(ascii: "\"") else { return nil }
    let rest = bytes[(position + pounds)...]
    let afterQuotes = rest.dropFirst(3).first { $0 != .space && $0 != .tab }
    // `#"""#` is a quote.
    let isMultiline = rest.starts(with: "\"\"\"".utf8) && (afterQuotes == .lineFeed || afterQuotes == nil)
    let quotes = isMultiline ? "\"\"\"" : "\""
    advance(by: pounds + quotes.utf8.count)
    let suffix = String(repeating: "#", count: pounds)
    return Fence(escape: Array(("\\" + suffix).utf8), end: Array((quotes + suffix).utf8), isMultiline: isMultiline)
  }

  private mutating func readLiteral() {
    let (start, startOfLine) = (position, (line, lineStart))
    let place = place()
    guard let fence = readFence() else { return advance() }
    let contents = (position, line, lineStart)
    guard let hasInterpolation = skipContents(fence) else {
      // Perhaps a quote in a regular expression: the file is read on behind it.
      if fence.isMultiline { unread.append((place, "it does not end")) }
      position = start
      (line, lineStart) = startOfLine
      return advance(by: fence.isMultiline ? bytes.count : 1)
    }
    let end = position - fence.end.count
    if fence.isMultiline, !bytes[lineStart..<end].allSatisfy({ $0 == .space || $0 == .tab }) {
      unread.append((place, "its end is not in a line of its own"))
      return
    }
    let after = (position, line, lineStart)
    var decoder = LiteralDecoder()
    (position, line, lineStart) = contents
    decode(to: end, fence, &decoder)
    (position, line, lineStart) = after
    add(decoder, hasInterpolation: hasInterpolation, at: place)
  }

  /// Skips a literal and its end; returns whether it has interpolations, or `nil` if it has no end.
  private mutating func skipContents(_ fence: Fence) -> Bool? {
    var hasInterpolation = false
    while let byte = peek() {
      let rest = bytes[position...]
      if rest.starts(with: fence.end) {
        advance(by: fence.end.count)
        return hasInterpolation
      }
      if byte == .lineFeed, !fence.isMultiline { return nil }
      guard rest.starts(with: fence.escape) else {
        advance()
        continue
      }
      advance(by: fence.escape.count)
      if peek() == UInt8(ascii: "(") {
        hasInterpolation = true
        guard skipInterpolation() else { return nil }
      } else {
        advance()
      }
    }
    return nil
  }

  /// Skips an interpolation, with the literals in it; returns whether it ends.
  private mutating func skipInterpolation() -> Bool {
    var depth = 0
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"): depth -= 1
      case UInt8(ascii: "\""), UInt8(ascii: "#"):
        guard let fence = readFence() else { break }
        guard skipContents(fence) != nil else { return false }
        continue
      default: break
      }
      advance()
      if depth == 0 { return true }
    }
    return false
  }

  /// Decodes the contents of a literal, up to the place where its end begins.
  private mutating func decode(to end: Int, _ fence: Fence, _ decoder: inout LiteralDecoder) {
    var end = end
    var indentation = 0
    if fence.isMultiline {
      let lastLine = bytes[..<end].lastIndex(of: .lineFeed) ?? end
      indentation = max(0, end - lastLine - 1)
      end = lastLine
      while position < end, peek() != .lineFeed { advance() }
      // Only the two fences, in lines that follow one another.
      guard position < end else { return }
      advance()
      skipIndentation(indentation, to: end)
    }
    decoder.addAnchor(at: place())
    while position < end, let byte = peek() {
      if byte == .lineFeed {
        advance()
        skipIndentation(indentation, to: end)
        decoder.add(.lineFeed)
        decoder.addAnchor(at: place())
      } else if bytes[position..<end].starts(with: fence.escape) {
        advance(by: fence.escape.count)
        decodeEscape(indentation, to: end, &decoder)
        decoder.addAnchor(at: place())
      } else {
        advance()
        decoder.add(byte)
      }
    }
  }

  private mutating func skipIndentation(_ count: Int, to end: Int) {
    for _ in 0..<count where position < end && peek() != .lineFeed { advance() }
  }

  private mutating func decodeEscape(_ indentation: Int, to end: Int, _ decoder: inout LiteralDecoder) {
    guard position < end, let kind = peek() else { return }
    switch kind {
    case UInt8(ascii: "("): _ = skipInterpolation()
    case .space, .tab, .lineFeed:
      // An escaped line end, perhaps with spaces before it, joins the line with the next one.
      while position < end, peek() != .lineFeed { advance() }
      advance()
      skipIndentation(indentation, to: end)
    case UInt8(ascii: "u"):
      advance(by: 2)
      let digits = bytes[position..<end].prefix { $0 != UInt8(ascii: "}") }
      advance(by: digits.count + 1)
      let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
      decoder.add(contentsOf: value.flatMap(Unicode.Scalar.init).map { Array(String($0).utf8) } ?? [])
    default:
      advance()
      let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "n"): .lineFeed, UInt8(ascii: "t"): .tab, UInt8(ascii: "r"): .carriageReturn, UInt8(ascii: "0"): 0,
      ]
      decoder.add(escapes[kind] ?? kind)
    }
  }

  // MARK: - Documents

  private mutating func add(_ decoder: LiteralDecoder, hasInterpolation: Bool, at place: SourceLocation) {
    switch Self.kind(of: decoder.text) {
    case .none: return
    case .operationOrFragment: break
    case .shorthand:
      // Many texts in braces are no document.
      guard (try? DocumentSyntax(parsing: decoder.text)) != nil else { return }
      guard mentions.last.map({ $0.line >= place.line - 1 }) == true || isFollowedByType else {
        if !hasInterpolation { braces.append(place) }
        return
      }
    }
    if hasInterpolation {
      unread.append((place, "it has an interpolation"))
    } else {
      documents.append(Literal(text: decoder.text, anchors: decoder.anchors))
    }
  }

  /// Whether ` as GraphQLDocument` follows.
  private var isFollowedByType: Bool {
    let words = String(decoding: bytes[position...].prefix(80), as: UTF8.self).split { $0.isWhitespace }
    return words.count > 1 && words[0] == "as"
      && ["", "GraphQLClient.", "Networking."].contains { words[1].hasPrefix($0 + "GraphQLDocument") }
  }

  private enum Kind {
    case none, operationOrFragment, shorthand
  }

  /// What a text is, by how it begins.
  private static func kind(of text: [UInt8]) -> Kind {
    var tokens = Tokens(rest: text[...])
    switch tokens.next() {
    case "{": return .shorthand
    case "\"":
      // A description (September 2025), or any text with quotes.
      return (try? DocumentSyntax(parsing: text)) == nil ? .none : .operationOrFragment
    case "query", "mutation", "subscription":
      var next = tokens.next()
      if let name = next, name.utf8.first?.isPartOfWord == true { next = tokens.next() }
      if next == "(" { return tokens.next() == "$" ? .operationOrFragment : .none }
      return next == "{" || next == "@" ? .operationOrFragment : .none
    case "fragment":
      _ = tokens.next()
      return tokens.next() == "on" ? .operationOrFragment : .none
    default: return .none
    }
  }

  /// The names and punctuators of GraphQL at the beginning of a text.
  private struct Tokens {
    var rest: ArraySlice<UInt8>

    mutating func next() -> String? {
      while let byte = rest.first {
        if byte == UInt8(ascii: "#") {
          rest = rest.drop { $0 != .lineFeed }
        } else if [.space, .tab, .lineFeed, .carriageReturn, UInt8(ascii: ",")].contains(byte) {
          rest = rest.dropFirst()
        } else {
          let word = rest.prefix { $0.isPartOfWord }
          let token = word.isEmpty ? rest.prefix(1) : word
          rest = rest.dropFirst(token.count)
          return String(decoding: token, as: UTF8.self)
        }
      }
      return nil
    }
  }
}

/// The text of a literal, and where its parts stand in the file.
private struct LiteralDecoder {
  private(set) var text: [UInt8] = []
  private(set) var anchors: [SwiftLiterals.Anchor] = []
  private var line = 1
  private var lineStart = 0
  private var columns = Columns()

  mutating func add(_ byte: UInt8) {
    let endsPair = byte == .lineFeed && text.last == .carriageReturn
    text.append(byte)
    guard byte == .lineFeed || byte == .carriageReturn else { return }
    if !endsPair { line += 1 }
    lineStart = text.count
  }

  mutating func add(contentsOf bytes: [UInt8]) {
    for byte in bytes { add(byte) }
  }

  mutating func addAnchor(at place: SourceLocation) {
    let column = columns.column(of: text.count, from: lineStart, in: text)
    anchors.append(SwiftLiterals.Anchor(inText: SourceLocation(line: line, column: column), inFile: place))
  }
}

/// Counts columns, in UTF-16 code units, from the last place on if that is in the same line: places come in the order of
/// the text, and lines may be long.
private struct Columns {
  private var lineStart = 0
  private var offset = 0
  private var column = 1

  mutating func column(of offset: Int, from lineStart: Int, in bytes: [UInt8]) -> Int {
    if lineStart != self.lineStart || offset < self.offset {
      (self.lineStart, self.offset, column) = (lineStart, lineStart, 1)
    }
    for byte in bytes[self.offset..<offset] { column += byte & 0xC0 == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1 }
    self.offset = offset
    return column
  }
}

extension UInt8 {
  /// Whether this may occur in a name of GraphQL or Swift; all that is not ASCII may, in Swift.
  fileprivate var isPartOfWord: Bool { isTokenByte && !Self.punctuation.contains(self) || self >= 0x80 }

  private static let punctuation = Set("!#$%&'*+-.^`|~".utf8)
}
