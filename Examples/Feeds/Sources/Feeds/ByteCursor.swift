/// A place in the bytes of a document, XML or HTML.
struct ByteCursor {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: some Collection<UInt8>) {
    rest = ArraySlice(bytes)
  }

  /// Whether the text is UTF-16 or UTF-32: text in UTF-8 contains no NUL.
  var isOtherUnicode: Bool {
    rest.starts(with: [0xFE, 0xFF]) || rest.starts(with: [0xFF, 0xFE]) || rest.prefix(1024).contains(0)
  }

  /// Moves to the next such byte, and returns `false` if there is none.
  mutating func skip(to byte: Unicode.Scalar) -> Bool {
    guard let index = rest.firstIndex(of: UInt8(ascii: byte)) else { return false }
    rest = rest[index...]
    return true
  }

  /// Moves past these bytes if they are next. Letters in `text` stand for capitals, too.
  mutating func take(_ text: StaticString, ignoringCase: Bool = false) -> Bool {
    text.withUTF8Buffer { text in
      guard rest.count >= text.count else { return false }
      for (byte, expected) in zip(rest, text) where byte != expected {
        guard ignoringCase, byte.lowercased == expected else { return false }
      }
      rest = rest.dropFirst(text.count)
      return true
    }
  }

  /// Moves past the next occurrence of these bytes, or else to the end, and returns what was before them.
  @discardableResult
  mutating func skip(past text: StaticString, ignoringCase: Bool = false) -> ArraySlice<UInt8> {
    let start = rest
    while let first = rest.first {
      let here = rest.startIndex
      if (first == text.utf8Start.pointee || ignoringCase), take(text, ignoringCase: ignoringCase) {
        return start[..<here]
      }
      rest = rest.dropFirst()
    }
    return start
  }

  /// Moves past the bytes that satisfy a condition, and returns them.
  mutating func take(while isPart: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let taken = rest.prefix(while: isPart)
    rest = rest[taken.endIndex...]
    return taken
  }

  /// Moves past a tag, whose `>` may also be in a quoted value, and returns what is between `<` or `</` and `>`.
  mutating func takeTag(upTo limit: Int) throws(DocumentRefusal) -> ArraySlice<UInt8> {
    var quote: UInt8?
    for index in rest.indices.prefix(limit) {
      switch rest[index] {
      case UInt8(ascii: ">") where quote == nil:
        defer { rest = rest[(index + 1)...] }
        return rest[..<index]
      case quote: quote = nil
      case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = quote ?? rest[index]
      default: break
      }
    }
    guard rest.count <= limit else { throw DocumentRefusal("A tag has over \(limit) bytes.") }
    defer { rest = [] }
    return rest
  }
}

extension UInt8 {
  /// The byte, or if it is a capital letter of ASCII, the small one.
  var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
