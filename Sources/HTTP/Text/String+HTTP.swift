extension String {
  /// Whether this is a token: one or more letters, digits or certain punctuation marks (RFC 9110, section 5.6.2).
  package var isToken: Bool {
    !isEmpty && utf8.allSatisfy(\.isTokenByte)
  }

  /// Whether it contains a control character: U+0000 to U+001F, or U+007F to U+009F.
  var holdsControl: Bool {
    // Far faster than to look up the category of each character, which took longer than a whole request for a token.
    var text = self
    return text.withUTF8 { text in
      let bytes = UnsafeRawBufferPointer(text)
      guard bytes.isFieldContent, bytes.firstIndex(of: .tab) == nil else { return true }
      // From U+0080, a character begins with C2; the first that is no control character is U+00A0.
      var position = 0
      while let start = bytes.firstIndex(of: 0xC2, from: position) {
        if bytes[start + 1] < 0xA0 { return true }
        position = start + 2
      }
      return false
    }
  }

  /// The elements of a list, in lower case (RFC 9110, section 5.6.1); parameters behind a semicolon count as elements.
  var listElements: [Substring] {
    lowercased().utf8.split { $0.isSpaceOrTab || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
      .map { Substring($0) }
  }
}
