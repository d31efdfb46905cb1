import Foundation

/// Results as one JSON object on one line, for other programs.
enum JSONOutput {
  /// The keys sorted, those of the server with the values as they came; what is `nil` is left out.
  ///
  /// What could drive a terminal or reorder the text (control characters, line and paragraph separators, invisible
  /// formatting) is escaped as `\uXXXX`, which a JSON reader turns back (RFC 8259, section 7).
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(value), as: UTF8.self)
    var result = ""
    result.reserveCapacity(json.utf8.count + 1)
    // Nothing but the content of strings can be escaped here: all else in JSON is printable ASCII.
    for scalar in json.unicodeScalars {
      if isEscaped(scalar) {
        for unit in scalar.utf16 { result += "\\u" + hexadecimal(unit) }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result + "\n"
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x7F { return scalar.value < 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    // Joiners and tags are parts of emoji, which stay legible.
    case .format: return !(0x200C...0x200D).contains(scalar.value) && !(0xE0020...0xE007F).contains(scalar.value)
    default: return false
    }
  }

  private static func hexadecimal(_ unit: UTF16.CodeUnit) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}
