/// An escape sequence of a Unicode scalar value: `\u0041`, a surrogate pair `\uD83D\uDE00`, or `\u{1F600}`
/// (specification, section 2.9.4).
enum UnicodeEscape {
  /// The scalar of the escape sequence that begins at a backslash, and the position after it; `nil` if it is none.
  static func read(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> (scalar: Unicode.Scalar, next: Int)? {
    if start + 2 < bytes.count, bytes[start + 2] == UInt8(ascii: "{") { return readBraced(bytes, from: start + 3) }
    guard let first = readFour(bytes, from: start + 2) else { return nil }
    if let scalar = Unicode.Scalar(first) { return (scalar, start + 6) }
    // A leading surrogate stands only before a trailing one.
    guard first < 0xDC00, start + 7 < bytes.count, bytes[start + 6] == UInt8(ascii: "\\"),
      bytes[start + 7] == UInt8(ascii: "u"), let second = readFour(bytes, from: start + 8),
      (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { return nil }
    return (scalar, start + 12)
  }

  private static func readFour(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> UInt32? {
    guard start + 4 <= bytes.count else { return nil }
    var value: UInt32 = 0
    for index in start..<start + 4 {
      guard let digit = hexDigit(bytes[index]) else { return nil }
      value = value << 4 | digit
    }
    return value
  }

  private static func readBraced(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int
  ) -> (scalar: Unicode.Scalar, next: Int)? {
    var value: UInt32 = 0
    var position = start
    while position < bytes.count, let digit = hexDigit(bytes[position]) {
      value = value << 4 | digit
      // Any number of zeros may precede, but nothing is beyond this value.
      guard value <= 0x10FFFF else { return nil }
      position += 1
    }
    guard position > start, position < bytes.count, bytes[position] == UInt8(ascii: "}"),
      let scalar = Unicode.Scalar(value)
    else { return nil }
    return (scalar, position + 1)
  }

  private static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }
}

/// A string in the text, with or without block quotes. Descriptions are strings.
public struct StringSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a string; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .string else { return nil }
    self.node = node
  }

  /// Whether it is a block string.
  public var isBlock: Bool { node.raw.flags.contains(.block) }

  /// What it says: escape sequences are replaced, and a block string loses its common indentation and its blank first and
  /// last lines (section 2.9.4).
  public var value: String {
    let quotes = isBlock ? 3 : 1
    let inner = (node.range.lowerBound + quotes)..<(node.range.upperBound - quotes)
    return node.tree.source.withUnsafeBufferPointer { source in
      let bytes = UnsafeBufferPointer(rebasing: source[inner])
      return isBlock ? StringLiteral.blockValue(bytes) : StringLiteral.value(bytes)
    }
  }
}

/// How a string is written in a document.
public enum StringLiteral {
  /// A string in quotes, on one line: control characters, quotes and backslashes are escaped.
  public static func quoted(_ value: String) -> String {
    var result = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{8}": result += "\\b"
      case "\u{C}": result += "\\f"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// A block string, on one line if it is short and may be, as graphql-js writes it.
  ///
  /// It reads back as the same value only if `isPrintableAsBlock(value)`.
  public static func block(_ value: String) -> String {
    let escaped = replaceBlockQuotes(Array(value.utf8))
    let lines = split(escaped)
    // Indentation that all lines but the first share would be lost if the text began in the first line.
    let needsFirstLineEnd =
      lines.count > 1 && lines.dropFirst().allSatisfy { $0.isEmpty || $0.first?.isIndentation == true }
    let endsWithBlockQuotes = escaped.suffix(4).elementsEqual("\\\"\"\"".utf8)
    let needsLastLineEnd =
      escaped.last == UInt8(ascii: "\\") || (escaped.last == UInt8(ascii: "\"") && !endsWithBlockQuotes)
    let hasLinesOfItsOwn =
      lines.count > 1 || value.utf16.count > 70 || needsLastLineEnd || needsFirstLineEnd || endsWithBlockQuotes
    let keepsFirstLine = lines.count == 1 && escaped.first?.isIndentation == true
    var result = "\"\"\""
    if hasLinesOfItsOwn, !keepsFirstLine { result += "\n" }
    result += String(decoding: escaped, as: UTF8.self)
    if hasLinesOfItsOwn { result += "\n" }
    return result + "\"\"\""
  }

  /// Whether a block string can say a value: it has no control characters but tabs and line feeds, no blank first or last
  /// line, and no indentation that all of its lines share.
  public static func isPrintableAsBlock(_ value: String) -> Bool {
    guard !value.isEmpty else { return true }
    let isControl = { (byte: UInt8) in byte < 0x20 && byte != UInt8(ascii: "\t") && byte != UInt8(ascii: "\n") }
    guard !value.utf8.contains(where: isControl) else { return false }
    let lines = split(Array(value.utf8))
    let isBlank = { (line: ArraySlice<UInt8>) in line.allSatisfy { $0.isIndentation } }
    guard let first = lines.first, let last = lines.last, !isBlank(first), !isBlank(last) else { return false }
    return lines.count == 1 || !lines.allSatisfy { isBlank($0) || $0.first?.isIndentation == true }
  }

  /// What the text between quotes says. Its escape sequences have been checked.
  static func value(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var position = 0
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count else {
        result.append(bytes[position])
        position += 1
        continue
      }
      if bytes[position + 1] == UInt8(ascii: "u"), let (scalar, next) = UnicodeEscape.read(bytes, at: position) {
        result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        position = next
        continue
      }
      switch bytes[position + 1] {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): result.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "t"): result.append(UInt8(ascii: "\t"))
      case let byte: result.append(byte)
      }
      position += 2
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// What the text between block quotes says: the algorithm `BlockStringValue` (section 2.9.4).
  static func blockValue(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let lines = split(bytes)
    var common: Int?
    for line in lines.dropFirst() {
      let indentation = line.prefix { $0.isIndentation }.count
      if indentation < line.count { common = min(common ?? indentation, indentation) }
    }
    var shown = lines.enumerated().map { index, line in index == 0 ? line : line.dropFirst(common ?? 0) }[...]
    while let first = shown.first, first.allSatisfy({ $0.isIndentation }) { shown.removeFirst() }
    while let last = shown.last, last.allSatisfy({ $0.isIndentation }) { shown.removeLast() }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    for (index, line) in shown.enumerated() {
      if index > 0 { result.append(UInt8(ascii: "\n")) }
      appendUnescaped(line, to: &result)
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func appendUnescaped(_ line: Slice<UnsafeBufferPointer<UInt8>>, to result: inout [UInt8]) {
    guard line.contains(UInt8(ascii: "\\")) else { return result.append(contentsOf: line) }
    var rest = line
    while let byte = rest.first {
      let isEscape = byte == UInt8(ascii: "\\") && rest.dropFirst().starts(with: "\"\"\"".utf8)
      result.append(contentsOf: isEscape ? rest.dropFirst().prefix(3) : rest.prefix(1))
      rest = rest.dropFirst(isEscape ? 4 : 1)
    }
  }

  private static func replaceBlockQuotes(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes[...]
    while let byte = rest.first {
      if rest.starts(with: "\"\"\"".utf8) {
        result += "\\\"\"\"".utf8
        rest = rest.dropFirst(3)
      } else {
        result.append(byte)
        rest.removeFirst()
      }
    }
    return result
  }

  /// The lines of a text; they end with `\n`, `\r\n` or `\r`.
  private static func split<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes) -> [Bytes.SubSequence] {
    var lines: [Bytes.SubSequence] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      lines.append(rest[..<end])
      let isPair = rest[end...].starts(with: "\r\n".utf8)
      rest = rest[end...].dropFirst(isPair ? 2 : 1)
    }
    lines.append(rest)
    return lines
  }
}

extension UInt8 {
  /// Whether it is white space that indents a line of a block string (section 2.1.1).
  fileprivate var isIndentation: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
