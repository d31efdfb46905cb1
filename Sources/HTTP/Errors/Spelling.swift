/// How a text may spell the bytes of a secret; each of them may stand for itself as well.
enum Spelling: CaseIterable {
  /// As they are.
  case plain
  /// RFC 8259, section 7.
  case json
  /// RFC 3986, section 2.1.
  case url
  /// As `harmless` writes out what cannot be seen.
  case harmless

  private static let ellipsis = Array("…".utf8)
  /// What a decoder puts in the place of a character that was cut.
  private static let replacement = Array("\u{FFFD}".utf8)
  /// Two `\u` and four digits each.
  private static let longestEscape = 12

  /// Where a secret that begins at a place ends, or where the text was cut within it.
  func end(of secret: [UInt8], from place: Int, in text: [UInt8]) -> Int? {
    var place = place
    var rest = secret[...]
    while let next = rest.first {
      if place < text.count, isEscape(text[place]) {
        if let (bytes, count) = unescaped(text[place...].prefix(Self.longestEscape)) {
          guard rest.starts(with: bytes) else { return nil }
          rest = rest.dropFirst(bytes.count)
          place += count
          continue
        }
        if let cut = endOfCutEscape(from: place, in: text) { return cut }
      }
      if place < text.count, text[place] == next {
        rest = rest.dropFirst()
        place += 1
      } else {
        // What stands there in the place of the secret's own character may begin with the same bytes.
        let start = text.startOfScalar(at: place)
        return isCut(text, at: start) ? start : nil
      }
    }
    return place
  }

  private func isCut(_ text: [UInt8], at place: Int) -> Bool {
    guard place < text.count else { return place == text.count }
    var rest = text[place...]
    if rest.starts(with: Self.replacement) { rest = rest.dropFirst(Self.replacement.count) }
    return rest.isEmpty || rest.starts(with: Self.ellipsis)
  }

  /// Where the text was cut within the escape that begins at a place.
  private func endOfCutEscape(from place: Int, in text: [UInt8]) -> Int? {
    let isLong = self != .url && place + 1 < text.count && text[place + 1] == UInt8(ascii: "u")
    let length = isLong ? Self.longestEscape : self == .url ? 3 : 2
    return (place + 1..<place + length).first { isCut(text, at: $0) }
  }

  private func isEscape(_ byte: UInt8) -> Bool {
    switch self {
    case .plain: false
    case .json, .harmless: byte == UInt8(ascii: "\\")
    case .url: byte == UInt8(ascii: "%")
    }
  }

  /// The bytes that a text's first escape stands for, and how long that is.
  private func unescaped(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], count: Int)? {
    let text = String(decoding: text, as: UTF8.self)
    if self == .url {
      return text.dropFirst().hexadecimal(digits: 2).map { ([UInt8(truncatingIfNeeded: $0)], 3) }
    }
    guard let letter = text.dropFirst().first else { return nil }
    if letter == "u" { return self == .json ? text.jsonScalar : text.harmlessScalar }
    switch letter {
    case "n": return ([10], 2)
    case "r": return ([13], 2)
    case "t": return ([9], 2)
    case "b" where self == .json: return ([8], 2)
    case "f" where self == .json: return ([12], 2)
    case "\"", "\\", "/": return self == .json ? letter.asciiValue.map { ([$0], 2) } : nil
    default: return nil
    }
  }
}

extension [UInt8] {
  /// Where the scalar begins that a byte of well-formed UTF-8 belongs to; the end for the end.
  fileprivate func startOfScalar(at place: Int) -> Int {
    place < count ? self[...place].lastIndex { $0 & 0xC0 != 0x80 } ?? place : place
  }
}

extension StringProtocol {
  /// The number that the first digits are.
  fileprivate func hexadecimal(digits: Int) -> UInt32? {
    let text = prefix(digits)
    return text.utf8.count == digits && text.allSatisfy(\.isHexDigit) ? UInt32(text, radix: 16) : nil
  }

  /// The scalar of `\u00E9`, or of two such that are a pair.
  fileprivate var jsonScalar: (bytes: [UInt8], count: Int)? {
    guard let first = dropFirst(2).hexadecimal(digits: 4) else { return nil }
    if let scalar = Unicode.Scalar(first) { return (Array(String(scalar).utf8), 6) }
    guard (0xD800...0xDBFF).contains(first), dropFirst(6).hasPrefix("\\u"),
      let second = dropFirst(8).hexadecimal(digits: 4), (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { return nil }
    return (Array(String(scalar).utf8), 12)
  }

  /// The scalar of `\u{E9}`.
  fileprivate var harmlessScalar: (bytes: [UInt8], count: Int)? {
    guard dropFirst(2).first == "{", let end = firstIndex(of: "}") else { return nil }
    let digits = self[..<end].dropFirst(3)
    guard let value = digits.hexadecimal(digits: digits.count), let scalar = Unicode.Scalar(value) else { return nil }
    return (Array(String(scalar).utf8), digits.count + 4)
  }
}
