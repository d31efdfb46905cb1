extension String {
  /// A JSON text in which what could control a terminal or reorder text is escaped as `\uXXXX`, which JSON parsers decode
  /// (RFC 8259, section 7): C1 controls and DEL, line and paragraph separators, and invisible formatting. Those below a
  /// space are escaped in the strings of JSON as it is.
  ///
  /// Joiners and tags, which are parts of emoji, are kept, so that these stay legible.
  package var terminalSafeJSON: String {
    var result = ""
    result.reserveCapacity(utf8.count)
    // Only strings can hold such characters: all else in JSON is printable ASCII.
    for scalar in unicodeScalars {
      if scalar.isUnsafeForTerminals {
        for unit in scalar.utf16 {
          let digits = String(unit, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  fileprivate var isUnsafeForTerminals: Bool {
    if value < 0x7F { return false }
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    case .format: return !(0x200C...0x200D).contains(value) && !(0xE0020...0xE007F).contains(value)
    default: return false
    }
  }
}
