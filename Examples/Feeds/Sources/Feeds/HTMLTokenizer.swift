/// Reads the start tags of a page, by the tokenization of the HTML standard (section 13.2.5), as far as its tags,
/// attributes, comments and raw texts go. It builds no tree, so what nests without an end costs nothing; each byte is
/// looked at a bounded number of times.
struct HTMLTokenizer {
  /// A start tag. Names are in small letters; of attributes of one name the first counts.
  struct StartTag {
    let name: String
    fileprivate(set) var attributes: [(name: String, value: ArraySlice<UInt8>)] = []

    /// The value of an attribute; `nil` also for one over the limit, such as an image in a `data:` URL.
    subscript(name: String) -> String? {
      guard let value = attributes.first(where: { $0.name == name })?.value, value.count <= HTMLTokenizer.valueLimit
      else {
        return nil
      }
      return String(decoding: value, as: UTF8.self).unescapedHTML
    }
  }

  /// How many tags a page may have.
  static let tagLimit = 100_000
  /// How many attributes a tag may have.
  static let attributeLimit = 128
  /// How many bytes a name may have, and a value that is read.
  static let valueLimit = 16_384

  /// The text in the element of the last tag, if the element can have no other elements, as `title`.
  private(set) var text = ""
  private var cursor: ByteCursor
  private var tagCount = 0
  private var isStarted = false

  init(_ page: some Collection<UInt8>) {
    cursor = ByteCursor(page)
  }

  /// The next start tag; `nil` at the end of the page. Throws if the page is not within the limits.
  mutating func nextStartTag() throws(DocumentRefusal) -> StartTag? {
    if !isStarted, cursor.isOtherUnicode { throw DocumentRefusal("It is not UTF-8.") }
    isStarted = true
    while cursor.skip(to: "<") {
      if cursor.take("<!--") {
        // `<!-->` and `<!--->` are whole comments.
        if !cursor.take(">"), !cursor.take("->") { cursor.skip(past: "-->") }
      } else if cursor.take("</") || cursor.take("<!") || cursor.take("<?") {
        cursor.skip(past: ">")
      } else {
        _ = cursor.take("<")
        guard let letter = cursor.rest.first?.lowercased, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
        else { continue }
        tagCount += 1
        guard tagCount <= Self.tagLimit else { throw DocumentRefusal("It has over \(Self.tagLimit) tags.") }
        let tag = try startTag()
        takeText(of: tag)
        return tag
      }
    }
    return nil
  }

  private mutating func startTag() throws(DocumentRefusal) -> StartTag {
    var tag = StartTag(name: string(try takeName { !$0.isSpace && $0 != "/" && $0 != ">" }).lowercased())
    while true {
      _ = skip { $0.isSpace || $0 == "/" }
      guard !cursor.rest.isEmpty, !cursor.take(">") else { return tag }
      var isFirst = true
      let name = try takeName { byte in
        defer { isFirst = false }
        return !byte.isSpace && byte != "/" && byte != ">" && (byte != "=" || isFirst)
      }
      _ = skip { $0.isSpace }
      let value = cursor.take("=") ? attributeValue() : []
      guard tag.attributes.count < Self.attributeLimit else {
        throw DocumentRefusal("A tag has over \(Self.attributeLimit) attributes.")
      }
      tag.attributes.append((string(name).lowercased(), value))
    }
  }

  private mutating func attributeValue() -> ArraySlice<UInt8> {
    _ = skip { $0.isSpace }
    for (quote, byte) in [("\"", "\""), ("'", "'")] as [(StaticString, Unicode.Scalar)] where cursor.take(quote) {
      defer { _ = cursor.take(quote) }
      return skip { $0 != byte }
    }
    return skip { !$0.isSpace && $0 != ">" }
  }

  /// Takes the content of elements in which a `<` begins no tag.
  private mutating func takeText(of tag: StartTag) {
    switch tag.name {
    case "title":
      text = String(string(cursor.skip(past: "</title", ignoringCase: true)).prefix(Self.valueLimit)).unescapedHTML
        .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    case "textarea": cursor.skip(past: "</textarea", ignoringCase: true)
    case "script": cursor.skip(past: "</script", ignoringCase: true)
    case "style": cursor.skip(past: "</style", ignoringCase: true)
    case "xmp": cursor.skip(past: "</xmp", ignoringCase: true)
    case "iframe": cursor.skip(past: "</iframe", ignoringCase: true)
    case "noembed": cursor.skip(past: "</noembed", ignoringCase: true)
    case "noframes": cursor.skip(past: "</noframes", ignoringCase: true)
    default: break
    }
  }

  private mutating func takeName(
    while isPart: (Unicode.Scalar) -> Bool
  ) throws(DocumentRefusal) -> ArraySlice<UInt8> {
    let name = skip(while: isPart)
    guard name.count <= Self.valueLimit else { throw DocumentRefusal("A name has over \(Self.valueLimit) bytes.") }
    return name
  }

  private mutating func skip(while isPart: (Unicode.Scalar) -> Bool) -> ArraySlice<UInt8> {
    cursor.take { isPart(Unicode.Scalar($0)) }
  }

  private func string(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension Unicode.Scalar {
  fileprivate var isSpace: Bool { [" ", "\t", "\n", "\r", "\u{C}"].contains(self) }
}

extension String {
  /// The text with its character references replaced: those by number, and the five that XML has, too.
  var unescapedHTML: String {
    var (text, rest) = ("", self[...])
    while let start = rest.firstIndex(of: "&") {
      text += rest[..<start]
      rest = rest[start...].dropFirst()
      let end = rest.prefix(10).firstIndex(of: ";")
      if let end, let character = Self.character(forReference: rest[..<end]) {
        text.unicodeScalars.append(character)
        rest = rest[end...].dropFirst()
      } else {
        text += "&"
      }
    }
    return text + rest
  }

  private static func character(forReference name: Substring) -> Unicode.Scalar? {
    let names: [Substring: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    guard name.hasPrefix("#") else { return names[name] }
    let digits = name.dropFirst()
    let number = ["x", "X"].contains(digits.first) ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    return number.flatMap { Unicode.Scalar($0) }
  }
}
