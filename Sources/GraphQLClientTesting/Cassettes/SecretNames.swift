import Streams
import SystemBase

/// The names under which secrets stand.
struct SecretNames: Sendable {
  private let wholes: Set<String>
  private let parts: [(comparable: String, words: [String])]
  private let parameters: Parameters
  /// What was found of names before: a body repeats a few.
  private let known = Locked<[Name: Bool]>([:])

  /// Names that are parts of too many others which are no secrets, such as `countryCode`.
  private static let onlyWhole: Set<String> = ["code", "key", "sig"]

  /// What the last word makes of a secret: `tokenType` and `passwordChangedAt` are none.
  private static let tellingEndings: Set<String> = [
    "at", "count", "expiration", "expires", "expiry", "in", "length", "lifetime", "limit", "type",
  ]

  private struct Parameters {
    let wholes: Set<String>
    let parts: [String]
  }

  private struct Name: Hashable {
    let text: String
    let isParameter: Bool
  }

  init(_ rules: CassetteSecrets?) {
    let names = rules?.names ?? []
    wholes = Set(names.map(Self.comparable))
    parts = names.map { (Self.comparable($0), Self.words(of: $0)) }.filter { !Self.onlyWhole.contains($0.0) }
    let comparables = (rules?.parameterNames ?? []).map(Self.comparable)
    parameters = Parameters(wholes: Set(comparables), parts: comparables.filter { $0.utf8.count >= 5 })
  }

  /// Whether a member, a field or a parameter is secret. A name counts if it has one of the rules as a part: a long one
  /// anywhere, a short one, such as `otp`, as a word.
  func contains(_ name: some StringProtocol, isParameter: Bool = false) -> Bool {
    guard !wholes.isEmpty || isParameter, name.utf8.count <= 256 else { return false }
    let key = Name(text: String(name), isParameter: isParameter)
    if let known = known.withLock({ $0[key] }) { return known }
    let isSecret = isSecret(key.text, isParameter: isParameter)
    known.withLock { known in
      if known.count > 10_000 { known = [:] }
      known[key] = isSecret
    }
    return isSecret
  }

  private func isSecret(_ name: String, isParameter: Bool) -> Bool {
    let comparable = Self.comparable(name)
    if wholes.contains(comparable) { return true }
    if isParameter, parameters.wholes.contains(comparable) || parameters.parts.contains(where: comparable.contains) {
      return true
    }
    guard let part = parts.first(where: { $0.comparable.utf8.count >= 5 && comparable.contains($0.comparable) })
    else {
      let words = Self.words(of: name)
      return parts.contains { $0.comparable.utf8.count < 5 && words.contains($0.words) } && !Self.isTelling(words)
    }
    return comparable == part.comparable || !Self.isTelling(Self.words(of: name))
  }

  private static func isTelling(_ words: [String]) -> Bool { words.last.map(tellingEndings.contains) ?? false }

  /// Without regard to case, `_` and `-`.
  private static func comparable(_ name: some StringProtocol) -> String {
    String(decoding: name.lowercased().utf8.filter { !"_-.".utf8.contains($0) }, as: UTF8.self)
  }

  /// The words of `resetToken`, `reset_token` or `Reset-Token`, in lower case.
  private static func words(of name: some StringProtocol) -> [String] {
    var words: [String] = [""]
    var wasUpper = false
    for character in name {
      let isUpper = character.isUppercase
      if !character.isLetter && !character.isNumber || isUpper && !wasUpper { words.append("") }
      if character.isLetter || character.isNumber { words[words.count - 1] += character.lowercased() }
      wasUpper = isUpper
    }
    return words.filter { !$0.isEmpty }
  }
}
