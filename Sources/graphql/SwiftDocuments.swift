import Platform

/// The constants of the type `GraphQLDocument` in Swift files, as the program has them when it runs: literals, and other
/// such constants, joined by `+`.
///
/// It reads tokens, and understands no more of Swift than that: declarations whose type is written, in types whose
/// braces it counts.
struct SwiftDocuments {
  /// A literal, or the name of a document, whose types come first.
  private enum Term {
    case literal(String)
    case name([String])
  }

  private struct Declaration {
    let place: String
    /// The types around it, the outermost first.
    let types: [String]
    let terms: [Term]
  }

  /// By the types they are in, and their own name: `GetUser.Session.query`.
  private var declarations: [String: Declaration] = [:]
  private var order: [String] = []

  /// The texts of all documents, with the places of their declarations.
  func resolved() throws(GraphQLCommand.Failure) -> [(place: String, text: String)] {
    var texts: [(String, String)] = []
    for name in order {
      guard let declaration = declarations[name] else { continue }
      texts.append((declaration.place, try parts(of: name, declaration, within: []).joined(separator: "\n")))
    }
    return texts
  }

  /// The literals that make up a document, each once, as `GraphQLDocument` joins them.
  private func parts(
    of name: String, _ declaration: Declaration, within outer: Set<String>
  ) throws(GraphQLCommand.Failure) -> [String] {
    guard !outer.contains(name) else {
      throw Self.failure(declaration.place, "the document \(name) contains itself")
    }
    var parts: [String] = []
    for term in declaration.terms {
      switch term {
      case .literal(let text): if !parts.contains(text) { parts.append(text) }
      case .name(let names):
        guard let other = path(to: names, in: declaration.types), let fragments = declarations[other] else {
          let name = names.joined(separator: ".")
          throw Self.failure(declaration.place, "the document \(name) is in none of the files")
        }
        let more = try self.parts(of: other, fragments, within: outer.union([name]))
        parts += more.filter { !parts.contains($0) }
      }
    }
    return parts
  }

  /// The path of a document that is called by these names where these types are: the innermost one.
  private func path(to names: [String], in types: [String]) -> String? {
    let ends = (0...types.count).reversed().map { (types.prefix($0) + names).joined(separator: ".") }
    if let inside = ends.first(where: { declarations[$0] != nil }) { return inside }
    let suffix = "." + names.joined(separator: ".")
    let others = order.filter { $0.hasSuffix(suffix) }
    return others.count == 1 ? others[0] : nil
  }

  /// Reads the declarations of a file.
  mutating func read(_ input: Input) throws(GraphQLCommand.Failure) {
    var tokens = try SwiftTokens(input).tokens[...]
    var types: [String] = []
    var next: String?
    while let token = tokens.popFirst() {
      switch token.kind {
      case .word("struct"), .word("class"), .word("enum"), .word("extension"), .word("actor"), .word("protocol"):
        next = Self.name(&tokens)
      case .symbol("{"):
        types.append(next ?? "")
        next = nil
      case .symbol("}"): _ = types.popLast()
      case .word("let"), .word("var"):
        guard case .word(let name)? = tokens.first?.kind, tokens.dropFirst().first?.kind == .symbol(":"),
          tokens.dropFirst(2).first?.kind == .word("GraphQLDocument")
        else { continue }
        tokens = tokens.dropFirst(3)
        let place = "\(input.name):\(token.line)"
        let around = types.filter { !$0.isEmpty }
        guard let terms = try Self.terms(&tokens, in: around, at: place) else { continue }
        let key = (around + [name]).joined(separator: ".")
        let declaration = Declaration(place: place, types: around, terms: terms)
        if declarations.updateValue(declaration, forKey: key) == nil { order.append(key) }
      default: break
      }
    }
  }

  /// The names with points between them.
  private static func name(_ tokens: inout ArraySlice<SwiftTokens.Token>) -> String? {
    var names: [String] = []
    while case .word(let word)? = tokens.first?.kind {
      // A member of a class that subclasses may override is no type.
      if names.isEmpty, ["var", "let", "func"].contains(word) { return nil }
      names.append(word)
      tokens.removeFirst()
      guard tokens.first?.kind == .symbol(".") else { break }
      tokens.removeFirst()
    }
    return names.isEmpty ? nil : names.joined(separator: ".")
  }

  /// The terms after `=`, or in the braces of a computed constant; `nil` if there are none, as in a protocol.
  private static func terms(
    _ tokens: inout ArraySlice<SwiftTokens.Token>, in types: [String], at place: String
  ) throws(GraphQLCommand.Failure) -> [Term]? {
    guard let first = tokens.first?.kind, first == .symbol("=") || first == .symbol("{") else { return nil }
    var rest = tokens.dropFirst()
    if rest.first?.kind == .word("get") || rest.first?.kind == .word("return") { rest = rest.dropFirst() }
    if rest.first?.kind == .symbol("}") { return nil }
    var terms: [Term] = []
    repeat {
      switch rest.first?.kind {
      case .text(let text)?:
        terms.append(.literal(text))
        rest = rest.dropFirst()
      case .symbol(".")?:
        rest = rest.dropFirst()
        guard let name = name(&rest) else { throw failure(place, "a name is missing after the point") }
        terms.append(.name(["GraphQLDocument", name]))
      case .word(let word)?:
        var (path, names) = (rest, [word])
        path = path.dropFirst()
        while path.first?.kind == .symbol("."), case .word(let word)? = path.dropFirst().first?.kind {
          names.append(word)
          path = path.dropFirst(2)
        }
        rest = path
        if names[0] == "Self" { names.replaceSubrange(0..<1, with: types.suffix(1)) }
        terms.append(.name(names))
      default: throw failure(place, "a document is not made of literals and constants joined by +")
      }
      guard rest.first?.kind == .symbol("+") else { break }
      rest = rest.dropFirst()
    } while true
    // The closing brace of a computed constant has no opening one among the types.
    if first == .symbol("{"), rest.first?.kind == .symbol("}") { rest = rest.dropFirst() }
    tokens = rest
    return terms
  }

  static func failure(_ place: String, _ message: String) -> GraphQLCommand.Failure {
    GraphQLCommand.Failure(exitCode: .invalid, message: "\(place): \(message)")
  }
}

/// The tokens of a Swift file, as far as declarations of documents consist of them.
struct SwiftTokens {
  enum Kind: Equatable {
    case word(String)
    case symbol(Character)
    case text(String)
  }

  struct Token {
    let kind: Kind
    let line: Int
  }

  private(set) var tokens: [Token] = []
  private let name: String
  private let characters: [Character]
  private var position = 0
  private var line = 1

  init(_ input: Input) throws(GraphQLCommand.Failure) {
    name = input.name
    characters = Array(input.text.replacing("\r\n", with: "\n"))
    while let character = peek() {
      let start = line
      if character.isNewline || character.isWhitespace {
        advance()
      } else if starts(with: "//") {
        while let next = peek(), !next.isNewline { advance() }
      } else if starts(with: "/*") {
        skipComment()
      } else if let text = try string() {
        tokens.append(Token(kind: .text(text), line: start))
      } else if character.isLetter || character == "_" || character == "`" {
        tokens.append(Token(kind: .word(word()), line: start))
      } else {
        tokens.append(Token(kind: .symbol(character), line: start))
        advance()
      }
    }
  }

  private func peek(_ offset: Int = 0) -> Character? {
    position + offset < characters.count ? characters[position + offset] : nil
  }

  private func starts(with text: String) -> Bool {
    characters[position...].starts(with: text)
  }

  private mutating func advance(by count: Int = 1) {
    for _ in 0..<count where position < characters.count {
      if characters[position].isNewline { line += 1 }
      position += 1
    }
  }

  private mutating func word() -> String {
    var word = ""
    while let next = peek(), next.isLetter || next.isNumber || next == "_" || next == "`" {
      if next != "`" { word.append(next) }
      advance()
    }
    return word
  }

  private mutating func skipComment() {
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        advance(by: 2)
      } else if starts(with: "*/") {
        depth -= 1
        advance(by: 2)
      } else {
        advance()
      }
    } while depth > 0 && peek() != nil
  }

  /// The value of the string literal that begins here, if one does. An interpolation, which no document has, is kept as
  /// it is written.
  private mutating func string() throws(GraphQLCommand.Failure) -> String? {
    var pounds = 0
    while peek(pounds) == "#" { pounds += 1 }
    guard peek(pounds) == "\"" else { return nil }
    let (start, startPosition) = (line, position)
    let fence = String(repeating: "#", count: pounds)
    advance(by: pounds)
    let isMultiline = starts(with: "\"\"\"")
    let quotes = isMultiline ? "\"\"\"" : "\""
    advance(by: quotes.count)
    var raw: [String] = [""]
    let escape = "\\" + fence
    while !starts(with: quotes + fence) {
      guard let next = peek(), isMultiline || !next.isNewline else {
        // No literal, but a quote in a regular expression, for example.
        (line, position) = (start, startPosition)
        return nil
      }
      if starts(with: escape + "(") {
        try skipInterpolation(into: &raw)
      } else if starts(with: escape), let escaped = peek(escape.count) {
        // Kept together, so that an escaped quote does not end the literal; replaced once the indentation is off.
        raw[raw.count - 1] += escape + String(escaped)
        advance(by: escape.count + 1)
        if escaped.isNewline {
          raw[raw.count - 1].removeLast()
          raw.append("")
        }
      } else if next.isNewline {
        raw.append("")
        advance()
      } else {
        raw[raw.count - 1].append(next)
        advance()
      }
    }
    advance(by: quotes.count + pounds)
    guard isMultiline else { return try unescaped(raw[0], escape, at: start) }
    let indentation = raw.removeLast().count
    let lines = raw.dropFirst().map { String($0.dropFirst(indentation)) }
    // A backslash at the end of a line joins it with the next one.
    return try unescaped(lines.joined(separator: "\n").replacing(escape + "\n", with: ""), escape, at: start)
  }

  private mutating func skipInterpolation(into raw: inout [String]) throws(GraphQLCommand.Failure) {
    var depth = 0
    repeat {
      guard let next = peek(), !next.isNewline else { return }
      if next == "(" { depth += 1 }
      if next == ")" { depth -= 1 }
      if depth > 0, next == "\"", let inner = try string() {
        raw[raw.count - 1] += inner
        continue
      }
      raw[raw.count - 1].append(next)
      advance()
    } while depth > 0 || peek(-1) != ")"
  }

  private func unescaped(_ text: String, _ escape: String, at line: Int) throws(GraphQLCommand.Failure) -> String {
    var parts = text.components(separatedBy: escape)[...]
    var result = parts.removeFirst()
    while var part = parts.popFirst() {
      guard let kind = part.first else {
        // Two escapes in a row: an escaped backslash.
        result += "\\" + (parts.popFirst() ?? "")
        continue
      }
      part.removeFirst()
      switch kind {
      case "n": result += "\n"
      case "t": result += "\t"
      case "r": result += "\r"
      case "0": result += "\0"
      case "\"", "'", "\\": result.append(kind)
      case "u":
        let digits = part.dropFirst().prefix { $0 != "}" }
        guard part.first == "{", let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
          throw SwiftDocuments.failure("\(name):\(line)", "\\u\(part.prefix(10)) is no character")
        }
        result.unicodeScalars.append(scalar)
        part = String(part.dropFirst(digits.count + 2))
      default: result += "\\" + String(kind)
      }
      result += part
    }
    return result
  }
}
