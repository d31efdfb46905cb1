// Swift compares strings by canonical equivalence. For that it puts combining characters that follow each other in order,
// in quadratic time: with 400 KB of them, hashing a string once takes half a minute.

extension String {
  /// How many combining characters may follow each other in a name: 30, by Unicode's Stream-Safe Text Format (UAX #15,
  /// section 13), more than any language needs.
  @inlinable package static var combiningLimit: Int { 30 }

  /// Whether the string can be compared, hashed and sorted in linear time, as a name has to be: a key, an identifier, the
  /// value of an enum.
  @inlinable package var isName: Bool {
    // None of these characters takes fewer than two bytes.
    @inline(__always) get { utf8.count <= 2 * Self.combiningLimit || isLongName }
  }

  @inline(never) @usableFromInline
  var isLongName: Bool {
    // A string knows whether it is ASCII, and then these counts are known, too.
    if utf8.count == utf16.count { return true }
    var count = 0
    for scalar in unicodeScalars {
      count = scalar.isCombining ? count + 1 : 0
      if count > Self.combiningLimit { return false }
    }
    return true
  }

  /// The string if it is a name; else with U+FFFD in the place of each combining character, as in that of bytes that are
  /// not UTF-8: for what a peer sends and others compare, such as the value of a header field.
  package var comparable: String {
    guard !isName else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.isCombining ? "\u{FFFD}" : $0 }))
  }
}

extension Unicode.Scalar {
  /// Whether it is a mark by its general category. Only marks have combining classes (Unicode's stability policy).
  fileprivate var isCombining: Bool {
    guard value >= 0x300 else { return false }
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return false
    }
  }
}
