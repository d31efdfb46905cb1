import Foundation

/// Results as one JSON object on one line, for other programs.
enum JSONOutput {
  /// Keys are sorted, values of the server are as received, and `nil` values are left out.
  ///
  /// Characters that could control a terminal or reorder text (control characters, line and paragraph separators,
  /// invisible formatting) are escaped as `\uXXXX`, which JSON parsers decode (RFC 8259, section 7).
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(value), as: UTF8.self)
    var result = ""
    result.reserveCapacity(json.utf8.count + 1)
    // Only the contents of strings can need escaping here: everything else in JSON is printable ASCII.
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
    // Joiners and tags are parts of emoji, and are kept so that these stay legible.
    case .format: return !(0x200C...0x200D).contains(scalar.value) && !(0xE0020...0xE007F).contains(scalar.value)
    default: return false
    }
  }

  private static func hexadecimal(_ unit: UTF16.CodeUnit) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}
