/// Writes lines of Swift, with their indentation.
struct SwiftWriter {
  private(set) var text = ""
  private var indentation = 0
  private static let lineLimit = 120

  /// Writes a line; an empty one has no indentation.
  mutating func line(_ line: String = "") {
    if !line.isEmpty {
      for _ in 0..<indentation { text.append(" ") }
      text.append(line)
    }
    text.append("\n")
  }

  /// Writes what is in braces.
  mutating func block(_ head: String, _ body: (inout SwiftWriter) -> Void) {
    line(head + " {")
    indentation += 2
    body(&self)
    indentation -= 2
    line("}")
  }

  /// Writes what is indented.
  mutating func indented(_ body: (inout SwiftWriter) -> Void) {
    indentation += 2
    body(&self)
    indentation -= 2
  }

  /// Writes a head, a list in parentheses, and what is behind them: in a line, if it has room for it.
  mutating func list(_ head: String, _ elements: [String], _ tail: String) {
    let whole = "\(head)(\(elements.joined(separator: ", ")))\(tail)"
    let fits = indentation + whole.utf8.count <= Self.lineLimit && !whole.utf8.contains(UInt8(ascii: "\n"))
    guard !fits, !elements.isEmpty else { return line(whole) }
    line(head + "(")
    indented { writer in
      for (index, element) in elements.enumerated() {
        let text = element + (index < elements.count - 1 ? "," : "")
        for line in text.split(separator: "\n") { writer.line(String(line)) }
      }
    }
    line(")" + tail)
  }

  /// Writes a head, a list, and what is behind it: in a line, if it has room for it, or else in as few as have.
  mutating func filled(_ head: String, _ elements: [String], _ tail: String) {
    let whole = head + elements.joined(separator: ", ") + tail
    guard indentation + whole.utf8.count > Self.lineLimit else { return line(whole) }
    line(head)
    indented { writer in
      var row = ""
      for element in elements {
        if !row.isEmpty, writer.indentation + row.utf8.count + element.utf8.count + 2 > Self.lineLimit {
          writer.line(row)
          row = ""
        }
        row += (row.isEmpty ? "" : " ") + element + ","
      }
      writer.line(row)
    }
    line(tail)
  }

  /// Writes a comment of documentation; whatever ends its lines in the schema, each becomes one of its own.
  mutating func documentation(_ text: String?) {
    guard let text, !text.isEmpty else { return }
    // Most have one line, in which no character can end it.
    if !text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }), text.utf8.last != UInt8(ascii: " ") {
      return line("/// " + text)
    }
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let end = line.lastIndex { !$0.isWhitespace }
      self.line("///" + (end.map { " " + Self.legible(line[...$0]) } ?? ""))
    }
  }

  /// A part of a line, in which what would control a terminal, or show people other code than the compiler reads, is
  /// written out.
  private static func legible(_ text: Substring) -> String {
    text.unicodeScalars.map { $0.isHiddenInSource && $0 != "\t" ? escaped($0) : String($0) }.joined()
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String { "\\u{\(String(scalar.value, radix: 16))}" }

  /// Writes that something is deprecated.
  mutating func deprecation(_ reason: String?) {
    guard let reason else { return }
    line("@available(*, deprecated, message: \(Self.literal(reason)))")
  }

  /// A string in quotes, in one line.
  static func literal(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.isHiddenInSource: result += escaped(scalar)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// Writes lines in quotes, as they are, and what follows the end: in its line, if that has room for it.
  mutating func multilineLiteral(_ head: String, _ text: String, _ tail: [String] = []) {
    // By bytes, as the compiler reads it: what combines with a quote makes another character of it.
    let bytes = Array(text.utf8)
    let quotes = "\"\"\""
    var pounds = bytes.contains(UInt8(ascii: "\\")) || bytes.contains(quotes.utf8) ? "#" : ""
    while !pounds.isEmpty, bytes.contains((quotes + pounds).utf8) || bytes.contains(("\\" + pounds).utf8) {
      pounds += "#"
    }
    line(head)
    indented { writer in
      writer.line(pounds + quotes)
      for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        writer.line(Self.line(String(decoding: line, as: UTF8.self), escapedBy: "\\" + pounds))
      }
      let end = ([quotes + pounds] + tail).joined(separator: " ")
      guard writer.indentation + end.utf8.count > Self.lineLimit else { return writer.line(end) }
      writer.line(quotes + pounds)
      for part in tail { writer.line(part) }
    }
  }

  /// A line of a literal. Of the control characters, the compiler takes only a tab as it is.
  private static func line(_ text: String, escapedBy escape: String) -> String {
    guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.isHiddenInSource, scalar != "\t" {
        result += escape + "u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Whether it controls what shows the text, ends a line, or changes the order in which it is read.
  fileprivate var isHiddenInSource: Bool {
    switch value {
    case 0x2028...0x202E, 0x2066...0x2069: true
    default: properties.generalCategory == .control
    }
  }
}
