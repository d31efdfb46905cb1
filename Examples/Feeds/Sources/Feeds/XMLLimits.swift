/// What an XML document may cost, checked in one pass over its bytes, before a parser sees them.
///
/// A parser may expand entities, compare each attribute of an element with all others, and recurse as deep as elements
/// nest: 1 MB that was made for it takes minutes or gigabytes. So a document type declaration, in which alone entities
/// can be declared, is refused, and so is what is larger than a feed has any need to be. What is not well-formed passes,
/// since a parser stops there by itself.
struct XMLLimits {
  /// How deep elements may nest.
  var depth = 64
  /// How many elements there may be.
  var elements = 100_000
  /// How many bytes a tag may have, with its attributes: an image in a `data:` URL may be one.
  var tagLength = 262_144
  /// How many attributes a tag may have.
  var attributes = 128

  /// Throws a ``DocumentRefusal`` for a document that does not keep within the limits.
  func check(_ document: ByteCursor) throws(DocumentRefusal) {
    var cursor = document
    guard !cursor.isOtherUnicode else { throw DocumentRefusal("It is not UTF-8.") }
    var depth = 0
    var elements = 0
    while cursor.skip(to: "<") {
      if cursor.take("<!--") {
        cursor.skip(past: "-->")
      } else if cursor.take("<![CDATA[") {
        cursor.skip(past: "]]>")
      } else if cursor.take("<?") {
        try checkEncoding(cursor.skip(past: "?>"))
      } else if cursor.take("<!") {
        throw DocumentRefusal("It has a document type declaration.")
      } else {
        let isEnd = cursor.take("</")
        let tag = try cursor.takeTag(upTo: tagLength)
        if isEnd {
          depth -= 1
        } else {
          elements += 1
          guard tag.attributeCount <= attributes else {
            throw DocumentRefusal("A tag has over \(attributes) attributes.")
          }
          guard elements <= self.elements else { throw DocumentRefusal("It has over \(self.elements) elements.") }
          if tag.last != UInt8(ascii: "/") { depth += 1 }
          guard depth <= self.depth else {
            throw DocumentRefusal("Its elements nest deeper than \(self.depth) levels.")
          }
        }
      }
    }
  }

  /// Refuses encodings in which a `<` may be written in another way, where this check would not see it.
  private func checkEncoding(_ instruction: ArraySlice<UInt8>) throws(DocumentRefusal) {
    let text = String(decoding: instruction.prefix(256), as: UTF8.self)
    guard text.hasPrefix("xml "), let encoding = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)/) else { return }
    try Charset.check(String(encoding.1))
  }
}

extension ArraySlice<UInt8> {
  /// How many attributes a tag has: the `=` that are not in quotes.
  fileprivate var attributeCount: Int {
    var (count, quote) = (0, UInt8?.none)
    for byte in self {
      switch byte {
      case quote: quote = nil
      case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = quote ?? byte
      case UInt8(ascii: "=") where quote == nil: count += 1
      default: break
      }
    }
    return count
  }
}
