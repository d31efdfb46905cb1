import Streams

extension StringProtocol {
  /// The text truncated to a number of columns, with an ellipsis if something is left out.
  func truncated(toColumns limit: Int) -> String {
    let text = Substring(self)
    if text.prefix(columns: limit).endIndex == text.endIndex { return String(text) }
    return limit > 0 ? text.prefix(columns: limit - 1).withoutTrailingSpaces + "…" : ""
  }

  /// The text broken into lines: at spaces, beside wide characters, and inside a word that is longer than a line.
  ///
  /// - Parameter lineLimit: The greatest number of lines; if the text needs more, the last one ends in an ellipsis.
  func wrapped(toColumns limit: Int, lineLimit: Int = .max) -> [String] {
    let limit = Swift.max(limit, 2)
    var lines: [String] = []
    var rest = Substring(self)
    while !rest.isEmpty {
      if lines.count == lineLimit - 1 {
        lines.append(rest.truncated(toColumns: limit))
        break
      }
      let line = rest.firstLine(columns: limit)
      lines.append(line.withoutTrailingSpaces)
      rest = rest[line.endIndex...].drop { $0 == " " }
    }
    return lines
  }
}

extension Substring {
  /// The characters at the start that fit into a number of columns.
  fileprivate func prefix(columns limit: Int) -> Substring {
    var used = 0
    return prefix { character in
      used += character.columns
      return used <= limit
    }
  }

  fileprivate func firstLine(columns limit: Int) -> Substring {
    let line = prefix(columns: limit)
    if line.endIndex == endIndex { return line }
    if line.isEmpty { return prefix(1) }
    var end = line.endIndex
    while end > startIndex {
      if mayBreak(at: end) { return self[..<end] }
      end = index(before: end)
    }
    return line
  }

  private func mayBreak(at index: Index) -> Bool {
    let next = self[index]
    if next == " " { return true }
    if next.closesPhrase { return false }
    let previous = self[self.index(before: index)]
    return previous == " " || next.columns > 1 || previous.columns > 1
  }

  fileprivate var withoutTrailingSpaces: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

extension Character {
  /// Whether the character is punctuation that belongs to the text before it, and so must not begin a line.
  fileprivate var closesPhrase: Bool {
    switch unicodeScalars.first?.properties.generalCategory {
    case .closePunctuation, .finalPunctuation, .otherPunctuation: true
    default: false
    }
  }
}

extension Character {
  /// The character's width in terminal columns: 0, 1 or 2, and more for a cluster of several letters.
  ///
  /// By Unicode's East Asian Width (UAX #11) for each scalar, with emoji sequences (UTS #51) as one wide character.
  /// Ambiguous characters count as narrow, as terminals treat them outside CJK locales.
  var columns: Int {
    if isEmojiSequence { return 2 }
    return unicodeScalars.reduce(0) { $0 + $1.columns }
  }

  /// Whether several scalars are displayed as one emoji: joined, with a skin tone, with emoji style, a keycap or a
  /// flag.
  private var isEmojiSequence: Bool {
    let scalars = unicodeScalars
    guard let first = scalars.first, first.properties.isEmoji else { return false }
    return scalars.dropFirst().contains { scalar in
      switch scalar.value {
      case 0xFE0F, 0x200D, 0x20E3, 0x1F3FB...0x1F3FF, 0x1F1E6...0x1F1FF: true
      default: false
      }
    }
  }
}

extension StringProtocol {
  /// The text's width in terminal columns, on one line.
  var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Unicode.Scalar {
  fileprivate var columns: Int {
    if value < 0x300 { return value < 0x20 || (0x7F...0x9F).contains(value) ? 0 : 1 }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    switch value {
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0  // Hangul vowels and finals join the consonant before them.
    case 0x1F1E6...0x1F1FF: return 1  // Half a flag.
    default: return properties.isEmojiPresentation || isWideText ? 2 : 1
    }
  }

  /// Whether the scalar is Wide or Fullwidth in EastAsianWidth.txt of Unicode 16; emoji are handled elsewhere.
  private var isWideText: Bool {
    Self.wideText.first { $0.upperBound >= value }?.contains(value) ?? false
  }

  /// Sorted; gaps of unassigned scalars between two wide ranges are included.
  private static let wideText: [ClosedRange<UInt32>] = [
    0x1100...0x115F,  // Hangul consonants
    0x2329...0x232A,  // angle brackets
    0x2630...0x2637, 0x268A...0x268F,  // trigrams and digrams
    0x2E80...0x303E,  // CJK radicals, ideographic description, CJK punctuation
    0x3041...0x3247,  // Kana, Bopomofo, Hangul jamo, CJK letters
    0x3250...0x4DBF,  // CJK letters and months, extension A
    0x4DC0...0xA4CF,  // hexagrams, CJK ideographs, Yi
    0xA960...0xA97C,  // Hangul consonants, extended
    0xAC00...0xD7A3,  // Hangul syllables
    0xF900...0xFAFF,  // CJK compatibility ideographs
    0xFE10...0xFE19, 0xFE30...0xFE6B,  // vertical and small forms
    0xFF01...0xFF60, 0xFFE0...0xFFE6,  // fullwidth forms
    0x16FE0...0x16FFF,  // ideographic marks
    0x17000...0x18D7F,  // Tangut, Khitan
    0x1AFF0...0x1B2FF,  // Kana extensions, Nushu
    0x1D300...0x1D356, 0x1D360...0x1D376,  // Tai Xuan Jing, counting rods
    0x1F200...0x1F202, 0x1F210...0x1F23B, 0x1F240...0x1F248, 0x1F250...0x1F251,  // enclosed ideographs
    0x1F260...0x1F265,  // signs of luck
    0x20000...0x2FFFD, 0x30000...0x3FFFD,  // CJK ideographs, extensions B and on
  ]
}
