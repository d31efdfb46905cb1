extension String {
  /// The text with everything made visible that could drive a terminal, forge a line of a log, or turn text around,
  /// cut after `limit` bytes with an ellipsis.
  ///
  /// Made visible as `\u{1B}`: the controls C0, DEL and C1, line and paragraph separators, and the marks, embeddings,
  /// overrides and isolates of the bidirectional algorithm (Unicode UAX #9).
  public func harmless(upTo limit: Int = .max) -> String {
    var result = ""
    for scalar in unicodeScalars {
      let piece = scalar.isHarmless ? String(scalar) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      guard result.utf8.count + piece.utf8.count <= limit else { return result + "…" }
      result += piece
    }
    return result
  }
}

extension Unicode.Scalar {
  fileprivate var isHarmless: Bool {
    switch value {
    case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
