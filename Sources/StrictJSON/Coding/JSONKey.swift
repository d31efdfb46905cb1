import SystemBase

/// A key with any name, or the index of an element. It fits into an `any CodingKey` without an allocation.
package enum JSONKey: CodingKey {
  case name(String)
  case index(Int)

  package init(stringValue: String) { self = .name(stringValue) }

  package init(intValue: Int) { self = .index(intValue) }

  package var stringValue: String {
    switch self {
    case .name(let name): name
    case .index(let index): "Index \(index)"
    }
  }

  package var intValue: Int? {
    if case .index(let index) = self { index } else { nil }
  }
}

/// The name of a member. Names are equal if their bytes are; `String`s are equal even if only their characters are.
struct MemberName: Hashable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: MemberName, right: MemberName) -> Bool {
    var (left, right) = (left.text, right.text)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
          return left.count == right.count
        }
        return bytesAreEqual(first, second, left.count)
      }
    }
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension String {
  /// The name in `camelCase`: `user_id` becomes `userId`. Underscores at either end stay; a name without any inside is
  /// left unchanged.
  package var fromSnakeCase: String {
    guard contains("_"), let first = firstIndex(where: { $0 != "_" }), let last = lastIndex(where: { $0 != "_" }) else {
      return self
    }
    let words = self[first...last].split(separator: "_")
    guard words.count > 1 else { return self }
    let tail = words.dropFirst().map(\.capitalized)
    return self[..<first] + (words[0].lowercased() + tail.joined()) + self[index(after: last)...]
  }

  /// The name in `snake_case`: `userId` becomes `user_id`, `myURLProperty` becomes `my_url_property`.
  ///
  /// A word begins at a capital or titlecase letter that is not the first character. Of several in a row, the last one
  /// begins a word if a small letter follows.
  var toSnakeCase: String {
    let characters = Array(self)
    var words: [ArraySlice<Character>] = []
    var start = 0
    var search = 1
    while let upper = characters.indices.dropFirst(search).first(where: { characters[$0].isCapital }) {
      words.append(characters[start..<upper])
      start = upper
      guard let lower = characters.indices.dropFirst(upper).first(where: { characters[$0].isSmallLetter }) else {
        break
      }
      if lower > upper + 1 {
        words.append(characters[upper..<lower - 1])
        start = lower - 1
      }
      search = lower + 1
    }
    words.append(characters[start...])
    return words.map { String($0).lowercased() }.joined(separator: "_")
  }
}

// By general categories, as Foundation decides: a circled letter or a Roman numeral is neither.
extension Character {
  fileprivate var isCapital: Bool {
    unicodeScalars.contains {
      switch $0.properties.generalCategory {
      case .uppercaseLetter, .titlecaseLetter: true
      default: false
      }
    }
  }

  fileprivate var isSmallLetter: Bool {
    unicodeScalars.contains { $0.properties.generalCategory == .lowercaseLetter }
  }
}
