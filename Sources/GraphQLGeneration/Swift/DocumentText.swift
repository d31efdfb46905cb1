import GraphQLLanguage

/// The text of definitions as it is sent: with `__typename` where a type has to be known, without the directives of clients.
struct DocumentText {
  private let documents: DocumentSet
  private let directives: ClientDirectives
  /// In order.
  private let typenamePlaces: [Int]
  private let minifies: Bool

  init(_ documents: DocumentSet, _ directives: ClientDirectives, typenamePlaces: Set<Int>, minifies: Bool) {
    self.documents = documents
    self.directives = directives
    self.typenamePlaces = typenamePlaces.sorted()
    self.minifies = minifies
  }

  /// The text of an operation or a fragment; lines end with a line feed. Descriptions are left out: servers of before
  /// September 2025 refuse them.
  func text(of definition: SyntaxNode) -> String {
    let range = definition.range
    let source = Array(definition.text.utf8)
    var edits: [(range: Range<Int>, text: String)] = typenamePlaces.filter(range.contains).map { place in
      (place..<place, Self.typename(before: place - range.lowerBound, in: source))
    }
    for directive in definition.descendants(.directive).compactMap(DirectiveSyntax.init)
    where !directives.isSent(directive) {
      let start = Self.start(ofRemoved: directive.range.lowerBound - range.lowerBound, in: source)
      edits.append(((start + range.lowerBound)..<directive.range.upperBound, ""))
    }
    for described in [definition] + definition.descendants(.variableDefinition) {
      guard let description = described.children.first, description.kind == .string else { continue }
      let end = source[(description.range.upperBound - range.lowerBound)...].firstIndex { !$0.isWhiteSpace }
      edits.append((description.range.lowerBound..<((end ?? source.count) + range.lowerBound), ""))
    }
    edits.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    var bytes: [UInt8] = []
    var next = 0
    for edit in edits where edit.range.lowerBound - range.lowerBound >= next {
      Self.add(source[next..<(edit.range.lowerBound - range.lowerBound)], to: &bytes)
      Self.add(edit.text.utf8, to: &bytes)
      next = edit.range.upperBound - range.lowerBound
    }
    Self.add(source[next...], to: &bytes)
    // A block string has lines, too, which are the same whatever ends them (section 2.9.4).
    let text = String(decoding: bytes, as: UTF8.self)
      .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
      .joined(separator: "\n")
    return minifies ? Self.minified(text) : text
  }

  /// Adds what follows, with a space where two words would become one.
  private static func add(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    if text.first?.isPartOfWord == true, bytes.last?.isPartOfWord == true { bytes.append(UInt8(ascii: " ")) }
    bytes += text
  }

  /// Where what is removed with a directive begins: with the white space before it, unless that ends a comment.
  private static func start(ofRemoved directive: Int, in source: [UInt8]) -> Int {
    let end = (source[..<directive].lastIndex { !$0.isWhiteSpace } ?? -1) + 1
    guard source[end..<directive].contains(where: \.isLineEnd) else { return end }
    let line = source[..<end].reversed().prefix { !$0.isLineEnd }
    return line.contains(UInt8(ascii: "#")) ? directive : end
  }

  /// What is added before a selection: in a line of its own, if that has one.
  private static func typename(before place: Int, in source: [UInt8]) -> String {
    let indentation = source[..<place].reversed().prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let first = place - indentation.count - 1
    let isFirst = first >= 0 && [UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(source[first])
    if isFirst { return "__typename\n" + String(decoding: indentation.reversed(), as: UTF8.self) }
    guard place > 0, source[place - 1] == UInt8(ascii: "{") else { return "__typename " }
    return place < source.count && source[place].isWhiteSpace ? " __typename" : " __typename "
  }

  /// The text without comments, commas and what white space nobody needs.
  static func minified(_ text: String) -> String {
    var result: [UInt8] = []
    let bytes = Array(text.utf8)
    var position = 0
    var needsSpace = false
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: ","):
        needsSpace = true
        position += 1
      case UInt8(ascii: "#"):
        position = bytes[position...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? bytes.count
        needsSpace = true
      case UInt8(ascii: "\""):
        if result.last == byte { result.append(UInt8(ascii: " ")) }
        let end = endOfString(in: bytes, from: position)
        result += bytes[position..<end]
        position = end
        needsSpace = false
      default:
        // Two words would become one.
        if needsSpace, byte.isPartOfWord || byte == UInt8(ascii: "-"), result.last?.isPartOfWord == true {
          result.append(UInt8(ascii: " "))
        }
        needsSpace = false
        result.append(byte)
        position += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func endOfString(in bytes: [UInt8], from start: Int) -> Int {
    let quote = UInt8(ascii: "\"")
    let isBlock = bytes[start...].starts(with: [quote, quote, quote])
    var position = start + (isBlock ? 3 : 1)
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "\\") {
        // In a block string only the quotes can be escaped.
        position += isBlock && !bytes[(position + 1)...].starts(with: [quote, quote, quote]) ? 1 : isBlock ? 4 : 2
      } else if isBlock, bytes[position...].starts(with: [quote, quote, quote]) {
        return position + 3
      } else if !isBlock, bytes[position] == quote {
        return position + 1
      } else {
        position += 1
      }
    }
    return bytes.count
  }
}

extension UInt8 {
  fileprivate var isWhiteSpace: Bool { [0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ",")].contains(self) }

  fileprivate var isLineEnd: Bool { self == 0x0A || self == 0x0D }

  fileprivate var isPartOfWord: Bool {
    self &- UInt8(ascii: "0") < 10 || (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "_")
  }
}
