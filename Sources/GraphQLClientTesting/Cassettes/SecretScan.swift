import HTTPClientCore
import SystemBase

/// Takes secrets out of a text of any form, by their names: JSON that is cut, broken, nested in a string or spread over
/// lines; literals in a GraphQL document; queries and fragments of URLs.
///
/// It looks for names, not for structure: a name, perhaps in quotes, then `:` or `=`, then a value, which is a text in
/// quotes, all texts and numbers of a list or an object, or whatever stands up to the next delimiter.
struct SecretScan {
  /// The text without the values.
  private(set) var text: String
  /// The values, as they stood there and without escapes, with their names.
  private(set) var found: [(name: String, value: String)] = []

  private let names: SecretNames
  private let bytes: [UInt8]
  private var place = 0
  private var result: [UInt8] = []

  init(_ text: String, _ names: SecretNames) {
    self.text = text
    self.names = names
    bytes = Array(text.utf8)
    guard bytes.contains(where: { ":=".utf8.contains($0) }) || text.contains("%3") else { return }
    scan()
    if !found.isEmpty { self.text = String(decoding: result, as: UTF8.self) }
  }

  private mutating func scan() {
    result.reserveCapacity(bytes.count)
    while place < bytes.count {
      let start = place
      guard let name = takeName() else {
        result.append(bytes[place])
        place += 1
        continue
      }
      // `place` is behind the name, or behind what separates it from a value.
      let isValue = takeSeparator(behind: name, from: start)
      result += bytes[start..<place]
      if isValue { takeValue(named: name) }
    }
  }

  // MARK: - Names

  /// Takes a word, in which letters may be escaped as in JSON.
  private mutating func takeName() -> String? {
    var name: [UInt8] = []
    while place < bytes.count, name.count <= 256 {
      let byte = bytes[place]
      if byte.isNamePart || byte == UInt8(ascii: "-") && !name.isEmpty {
        name.append(byte)
        place += 1
      } else if let (letter, count) = escapedLetter(at: place) {
        name.append(letter)
        place += count
      } else {
        break
      }
    }
    return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }

  /// An ASCII letter as `\u0074`, behind any number of backslashes.
  private func escapedLetter(at place: Int) -> (letter: UInt8, count: Int)? {
    let slashes = bytes[place...].prefix { $0 == UInt8(ascii: "\\") }.count
    let escape = bytes.dropFirst(place + slashes).prefix(5)
    guard slashes > 0, escape.first == UInt8(ascii: "u"), escape.count == 5,
      let value = UInt8(String(decoding: escape.dropFirst(3), as: UTF8.self), radix: 16),
      escape.dropFirst().prefix(2).allSatisfy({ $0 == UInt8(ascii: "0") }), value.isNamePart
    else { return nil }
    return (value, slashes + 5)
  }

  /// Takes what stands between a secret name and its value, if a value follows; otherwise takes nothing.
  private mutating func takeSeparator(behind name: String, from start: Int) -> Bool {
    let end = place
    let isQuoted = takeQuote() != nil
    // As in `user[password]=`.
    if !isQuoted { _ = take("]") || take("%5D") || take("%5d") }
    skipBlanks()
    let isAssigned = take("=") || take("%3D") || take("%3d")
    guard isAssigned || take(":") || take("%3A") || take("%3a"), names.contains(name, isParameter: isAssigned) else {
      place = end
      return false
    }
    if isAssigned && !isQuoted {
      if place < bytes.count, " \t".utf8.contains(bytes[place]) { skipBlanks() }
    } else {
      skipBlanks()
    }
    let isText = quote(at: place) != nil || place < bytes.count && "[{".utf8.contains(bytes[place])
    // Prose has names with a colon, too.
    guard isAssigned || isQuoted || isText, place < bytes.count else {
      place = end
      return false
    }
    return true
  }

  /// Skips white space, line breaks too, and the field name of an event that continues in the next line.
  private mutating func skipBlanks() {
    while place < bytes.count {
      if " \t\r\n".utf8.contains(bytes[place]) {
        place += 1
      } else if place > 0, "\r\n".utf8.contains(bytes[place - 1]), take("data:") {
        continue
      } else if ["\\n", "\\r", "\\t"].contains(where: { take($0) }) {
        // A line break in JSON that stands in a string.
        continue
      } else {
        return
      }
    }
  }

  private mutating func take(_ text: String) -> Bool {
    guard bytes[place...].starts(with: text.utf8) else { return false }
    place += text.utf8.count
    return true
  }

  // MARK: - Quotes

  /// A quote as it is written at this depth of escaping.
  private func quote(at place: Int) -> ArraySlice<UInt8>? {
    for text in ["%22", "%27", "&quot;", "&#34;", "&#39;"] where bytes[place...].starts(with: text.utf8) {
      return bytes[place..<place + text.utf8.count]
    }
    let slashes = bytes[place...].prefix { $0 == UInt8(ascii: "\\") }.count
    guard place + slashes < bytes.count, "\"'".utf8.contains(bytes[place + slashes]) else { return nil }
    return bytes[place...place + slashes]
  }

  private mutating func takeQuote() -> ArraySlice<UInt8>? {
    let quote = quote(at: place)
    if let quote { place = quote.endIndex }
    return quote
  }

  /// Where the text that `quote` has opened before `place` ends: at the next such quote, at one that ends the text around
  /// it, at the end of the line, or at the end.
  private func endOfText(in quote: ArraySlice<UInt8>) -> Int {
    var end = place
    let isPlain = quote.last.map { "\"'".utf8.contains($0) } ?? false
    while end < bytes.count {
      if bytes[end] == UInt8(ascii: "\n") || bytes[end] == UInt8(ascii: "\r") { return end }
      if !isPlain {
        if bytes[end...].starts(with: quote) { return end }
        end += 1
        continue
      }
      let slashes = bytes[end...].prefix { $0 == UInt8(ascii: "\\") }.count
      let next = end + slashes
      guard next < bytes.count, bytes[next] == quote.last else {
        end = max(next, end + 1)
        continue
      }
      // A text at the depth n is closed by a quote behind 2^n - 1 backslashes; what it has escaped itself has
      // more, and what closes the text around it has fewer.
      let depth = quote.count
      if slashes < depth || slashes % (2 * depth) == depth - 1 { return max(end, next - (depth - 1)) }
      end = next + 1
    }
    return bytes.count
  }

  // MARK: - Values

  private mutating func takeValue(named name: String) {
    if let quote = takeQuote() {
      result += quote
      let end = endOfText(in: quote)
      replace(upTo: end, named: name)
    } else if place < bytes.count, "[{".utf8.contains(bytes[place]) {
      takeContainer(named: name)
    } else {
      let delimiters = Array(" \t\r\n,;&#\"'<>)}]\\".utf8)
      let end = bytes[place...].firstIndex { delimiters.contains($0) } ?? bytes.count
      replace(upTo: end, named: name)
    }
  }

  /// Replaces all texts and numbers of a list or an object, but not the keys.
  private mutating func takeContainer(named name: String) {
    var depth = 0
    while place < bytes.count {
      let byte = bytes[place]
      if let quote = takeQuote() {
        result += quote
        let (start, end) = (place, endOfText(in: quote))
        place = min(end + (end < bytes.count && bytes[end...].starts(with: quote) ? quote.count : 0), bytes.count)
        skipBlanks()
        let isKey = place < bytes.count && bytes[place] == UInt8(ascii: ":")
        place = start
        if isKey {
          result += bytes[start..<end]
          place = end
        } else {
          replace(upTo: end, named: name)
        }
        if let closing = self.quote(at: place), closing == quote {
          result += closing
          place = closing.endIndex
        }
        continue
      }
      if byte == UInt8(ascii: "-") || byte.isDigit {
        let end = bytes[place...].firstIndex { !$0.isDigit && !"+-.eE".utf8.contains($0) } ?? bytes.count
        replace(upTo: end, named: name)
        continue
      }
      if "[{".utf8.contains(byte) { depth += 1 }
      if "]}".utf8.contains(byte) { depth -= 1 }
      result.append(byte)
      place += 1
      if depth == 0 { return }
    }
  }

  private mutating func replace(upTo end: Int, named name: String) {
    let raw = String(decoding: bytes[place..<end], as: UTF8.self)
    place = end
    guard !raw.isEmpty, !["null", "true", "false", Redactor.placeholder].contains(raw), !isErrorCode(raw, name) else {
      result += raw.utf8
      return
    }
    let isNumber = raw.utf8.allSatisfy { $0.isDigit || "+-.eE".utf8.contains($0) } && !isBehindQuote
    result += (isNumber ? "0" : Redactor.placeholder).utf8
    var value = raw
    found.append((name, value))
    // However deep it was escaped.
    while found.count < 10_000, let plainer = value.withoutEscapes, plainer != value {
      value = plainer
      found.append((name, value))
    }
  }

  private var isBehindQuote: Bool { result.last.map { "\"';".utf8.contains($0) || $0 == UInt8(ascii: "2") } ?? false }

  /// Whether it is the `code` of an error, such as `NOT_FOUND`, on which programs act.
  private func isErrorCode(_ value: String, _ name: String) -> Bool {
    guard name.lowercased() == "code" else { return false }
    let isWord = value.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
    return isWord || Int(value) != nil && value.utf8.count <= 3
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  /// Whether it may stand in a name: a letter, a digit or `_`.
  fileprivate var isNamePart: Bool { isDigit || (0x61...0x7A).contains(self | 0x20) || self == UInt8(ascii: "_") }
}

extension String {
  /// The text with its escapes of JSON, or else of URLs, undone once, as far as they are whole.
  fileprivate var withoutEscapes: String? {
    if utf8.contains(UInt8(ascii: "\\")) { return withoutJSONEscapes }
    return utf8.contains(UInt8(ascii: "%")) ? percentDecoded : nil
  }

  private var withoutJSONEscapes: String {
    var result = ""
    var rest = self[...]
    while let character = rest.popFirst() {
      guard character == "\\", let letter = rest.popFirst() else {
        result.append(character)
        continue
      }
      switch letter {
      case "n": result.append("\n")
      case "r": result.append("\r")
      case "t": result.append("\t")
      case "u":
        let digits = rest.prefix(4)
        guard digits.count == 4, let unit = UInt16(digits, radix: 16) else { return result }
        rest = rest.dropFirst(4)
        var units = [unit]
        if UTF16.isLeadSurrogate(unit), rest.hasPrefix("\\u"), let low = UInt16(rest.dropFirst(2).prefix(4), radix: 16)
        {
          units.append(low)
          rest = rest.dropFirst(6)
        }
        result += String(decoding: units, as: UTF16.self)
      default: result.append(letter)
      }
    }
    return result
  }
}
