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
