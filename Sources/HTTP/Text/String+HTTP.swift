extension String {
  /// Whether this is a token: one or more letters, digits or certain punctuation marks (RFC 9110, section 5.6.2).
  package var isToken: Bool {
    !isEmpty && utf8.allSatisfy(\.isTokenByte)
  }

  /// Whether it contains a control character: U+0000 to U+001F, or U+007F to U+009F.
  var holdsControl: Bool {
    // Far faster than to look up the category of each character, which took longer than a whole request for a token.
    var text = self
    return text.withUTF8 { bytes in
      var previous: UInt8 = 0
      for byte in bytes {
        // The characters from U+0080 begin with C2, and the first that is no control character is U+00A0.
        if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
        previous = byte
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
