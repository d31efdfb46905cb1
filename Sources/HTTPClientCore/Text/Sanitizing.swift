import SystemBase

extension StringProtocol {
  /// The text with everything that could control a terminal, forge a log line, or hide or reorder text escaped as in a
  /// Swift literal: ESC as `\u{1B}`, a line break as `\n`.
  ///
  /// Escaped are control characters (C0, DEL, C1), line and paragraph separators, and every invisible scalar of
  /// Unicode's `Default_Ignorable_Code_Point` (bidirectional controls, zero-width spaces, tags, fillers), except where
  /// a script or an emoji needs it. At most eight marks on one letter are kept; further ones are escaped, too.
  ///
  /// - Parameter limit: The maximum length in bytes; a longer text is cut between characters, and ends in `…`, whose 3
  ///   bytes are not counted.
  public func sanitized(upTo limit: Int = .max) -> String { SystemBase.sanitized(self, upTo: limit) }
}

extension String {
  /// Whether this is a token: one or more letters, digits or certain punctuation marks (RFC 9110, section 5.6.2).
  package var isToken: Bool {
    !isEmpty && utf8.allSatisfy(\.isTokenByte)
  }

  /// Whether it contains a control character: U+0000 to U+001F, or U+007F to U+009F.
  package var holdsControl: Bool {
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
  package var listElements: [Substring] {
    lowercased().utf8.split { $0.isSpaceOrTab || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
      .map { Substring($0) }
  }
}

extension UnsafeRawBufferPointer {
  /// The index of the first byte of this value at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    guard start < count, let base = baseAddress, let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Whether all bytes may occur in a field's line: no control characters except tabs.
  package var isFieldContent: Bool {
    var position = 0
    // Sixteen at a time, until there is a byte below a space, or a DEL.
    while position + 16 <= count {
      let bytes = loadUnaligned(fromByteOffset: position, as: SIMD16<UInt8>.self)
      if bytes.min() < 0x20 || (bytes ^ 0x7F).min() == 0 { break }
      position += 16
    }
    while position < count, self[position].isFieldByte { position += 1 }
    return position == count
  }
}

extension Data {
  /// Whether the bytes of a text, which is not empty, occur. Foundation's search takes many times longer than
  /// receiving a response.
  package func holds(_ text: String) -> Bool {
    let text = Array(text.utf8)
    return withUnsafeBytes { bytes in
      var position = 0
      while let start = bytes.firstIndex(of: text[0], from: position) {
        if bytes[start...].starts(with: text) { return true }
        position = start + 1
      }
      return false
    }
  }
}

extension UInt8 {
  @inlinable package static var tab: UInt8 { 0x09 }
  @inlinable package static var lineFeed: UInt8 { 0x0A }
  @inlinable package static var carriageReturn: UInt8 { 0x0D }
  @inlinable package static var space: UInt8 { 0x20 }
  @inlinable package static var colon: UInt8 { 0x3A }

  /// Whether this may occur in a token (RFC 9110, section 5.6.2).
  @inlinable package var isTokenByte: Bool {
    switch self {
    case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true  // a-z, A-Z, 0-9
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // ! #$%&' * + - . ^_` | ~
    default: false
    }
  }

  /// Whether this may occur in a field's value: any byte except control characters other than the tab (RFC 9110,
  /// section 5.5).
  @inlinable package var isFieldByte: Bool { self >= 0x20 ? self != 0x7F : self == .tab }

  @inlinable package var isDigit: Bool { self &- 0x30 < 10 }

  @inlinable package var isUpperCase: Bool { 0x41...0x5A ~= self }

  @inlinable package var isSpaceOrTab: Bool { self == .space || self == .tab }

  /// The value of a hexadecimal digit; `nil` if it is none.
  @inlinable package var hexDigitValue: Int? {
    switch self {
    case 0x30...0x39: Int(self) - 0x30
    case 0x41...0x46: Int(self) - 0x37
    case 0x61...0x66: Int(self) - 0x57
    default: nil
    }
  }
}
