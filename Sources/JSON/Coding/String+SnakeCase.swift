import Foundation

extension String {
  /// The name in `camelCase`: `user_id` is `userId`. Underscores at either end stay; a name without any inside is left
  /// as it is.
  package var fromSnakeCase: String {
    guard contains("_"), let first = firstIndex(where: { $0 != "_" }), let last = lastIndex(where: { $0 != "_" }) else {
      return self
    }
    let words = self[first...last].split(separator: "_")
    guard words.count > 1 else { return self }
    let tail = words.dropFirst().map(\.capitalized)
    return self[..<first] + (words[0].lowercased() + tail.joined()) + self[index(after: last)...]
  }

  /// The name in `snake_case`: `userId` is `user_id`, `myURLProperty` is `my_url_property`.
  ///
  /// A word begins at a capital that follows something, and the last of several capitals begins one with the small
  /// letters behind it.
  var toSnakeCase: String {
    let characters = Array(self)
    var words: [ArraySlice<Character>] = []
    var start = 0
    var search = 1
    while let upper = characters.indices.dropFirst(search).first(where: { characters[$0].isUppercase }) {
      words.append(characters[start..<upper])
      start = upper
      guard let lower = characters.indices.dropFirst(upper).first(where: { characters[$0].isLowercase }) else { break }
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
