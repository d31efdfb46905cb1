/// The text with everything escaped that could control a terminal, forge a log line, or hide or reorder text, and cut beyond
/// a limit in bytes: what `sanitized(upTo:)` of HTTPClientCore gives, and documents.
package func sanitized(_ text: some StringProtocol, upTo limit: Int = .max) -> String {
  // Most texts are short and printable ASCII, and stay as they are.
  if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return String(text) }
  // Escaping never shortens the text, so the rest cannot matter. The cut comes first because a single character may
  // be arbitrarily long.
  let text = text.prefix(beyond: limit)
  var result = ""
  var index = text.startIndex
  while index < text.endIndex {
    let end = result.endIndex
    let cluster = text[index]
    index = text.index(after: index)
    let next = index < text.endIndex ? text[index].unicodeScalars.first : nil
    cluster.appendHarmless(to: &result, before: next)
    if result.utf8.count > limit { return result[..<end] + "…" }
  }
  return result
}

extension StringProtocol {
  /// The text up to and including the first scalar that ends beyond `limit` bytes.
  fileprivate func prefix(beyond limit: Int) -> String {
    guard utf8.count > limit else { return String(self) }
    var end = utf8.index(startIndex, offsetBy: limit + 1)
    while end < endIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(after: end) }
    // Not a slice of the text: that would search for the end of its last character.
    return String(decoding: utf8[..<end], as: UTF8.self)
  }
}

extension Character {
  private static let markLimit = 8

  fileprivate func appendHarmless(to result: inout String, before next: Unicode.Scalar?) {
    let scalars = Array(unicodeScalars)
    var marks = 0
    for (position, scalar) in scalars.enumerated() {
      if scalar.isMark { marks += 1 }
      let isSafe =
        scalar.isVisible
        || scalar.isNeeded(
          after: position > 0 ? scalars[position - 1] : nil, base: scalars[0],
          before: position + 1 < scalars.count ? scalars[position + 1] : nil, orAcross: next)
      if isSafe && marks <= Self.markLimit {
        result.unicodeScalars.append(scalar)
      } else {
        result += scalar.writtenOut
      }
    }
  }
}

extension Unicode.Scalar {
  fileprivate var isMark: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }

  /// Whether the scalar is visible, and has no other effect.
  fileprivate var isVisible: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return false
    default: break
    }
    // The annotation marks are invisible, too, although Unicode's list does not contain them.
    return !properties.isDefaultIgnorableCodePoint && !(0xFFF9...0xFFFB).contains(value)
  }

  /// Whether an invisible scalar is needed in its place: between these two scalars, in a cluster with this base.
  ///
  /// - Parameter next: The first scalar of the following cluster.
  fileprivate func isNeeded(
    after previous: Unicode.Scalar?, base: Unicode.Scalar, before following: Unicode.Scalar?,
    orAcross next: Unicode.Scalar?
  ) -> Bool {
    guard let previous else { return false }
    switch value {
    case 0x200C, 0x200D:
      // Persian and the scripts of India use joiners between letters (UAX #31, section 2.3).
      if base.spellsWithJoiners, (following ?? next)?.spellsWithJoiners == true { return true }
      return value == 0x200D && base.properties.isEmoji && following?.properties.isEmoji == true
    case 0xFE00...0xFE0F, 0xE0100...0xE01EF:
      return !previous.properties.isVariationSelector
    case 0xE0020...0xE007F:
      return base.value == 0x1F3F4  // The flag of a region is a black flag followed by tags (UTS #51, annex C).
    case 0x115F...0x1160:
      return true  // They stand for a missing letter in a syllable of old Hangul.
    default:
      return false
    }
  }

  private var spellsWithJoiners: Bool { (0x0600...0x1CFF).contains(value) }

  /// The scalar, escaped as in a Swift literal.
  fileprivate var writtenOut: String {
    switch self {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(value, radix: 16, uppercase: true))}"
    }
  }
}
