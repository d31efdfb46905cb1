import GraphQLLanguage
import Testing

@Suite struct StringLiteralTests {
  private func value(_ literal: String) throws -> String? {
    guard case .string(let string) = try ValueSyntax(parsing: literal).kind else { return nil }
    return string.value
  }

  @Test func `the escape sequences of a string are replaced, those of all Unicode scalar values among them`() throws {
    #expect(try value(#""\"\\\/\b\f\n\r\t""#) == "\"\\/\u{8}\u{C}\n\r\t")
    #expect(
      try value(#""\u0041\u00e9\u{41}\u{0000000041}\u{1F600}\uD83D\uDE00\u{10FFFF}\u0000""#) == "AéAA😀😀\u{10FFFF}\0")
    #expect(try value("\"plain é 😀 \u{7}\"") == "plain é 😀 \u{7}")
    #expect(try value(#""""#) == "")
  }

  @Test func `a block string loses common indentation, blank first and last lines, and nothing else`() throws {
    func block(_ lines: String...) throws -> String? { try value("\"\"\"" + lines.joined(separator: "\n") + "\"\"\"") }
    #expect(try block("") == "")
    #expect(try block("a") == "a")
    #expect(try block(" a ") == " a ")
    #expect(
      try block("", "    Hello,", "      World!", "", "    Yours,", "      GraphQL.", "  ")
        == "Hello,\n  World!\n\nYours,\n  GraphQL.")
    #expect(try block("  a", "    b", "   c") == "  a\n b\nc")
    #expect(try block("", "  ", "\t a", "    b", "", "") == "a\n  b")
    #expect(try block("  ", " ") == "")
    #expect(try block(#"\n \u0041 \""" ""#, "") == #"\n \u0041 """ ""#)
    #expect(try value("\"\"\"\r\n  a\r  b\r\n\"\"\"") == "a\nb")
  }

  @Test func `any text, written as a string, reads back the same`() throws {
    var random = Random(1)
    for _ in 0..<2000 {
      let text = random.text()
      #expect(try value(StringLiteral.quoted(text)) == text)
    }
    #expect(StringLiteral.quoted("a\"\\\n\u{0}\u{7F}\u{9F}é") == #""a\"\\\n\u0000\u007F\u009Fé""#)
  }

  @Test func `a text that a block string can say reads back the same, and only such a text`() throws {
    var random = Random(2)
    var printable = 0
    for _ in 0..<5000 {
      let text = random.text()
      guard !text.unicodeScalars.contains("\r"), !text.unicodeScalars.contains("\u{7}") else {
        #expect(!StringLiteral.isPrintableAsBlock(text))
        continue
      }
      let back = try value(StringLiteral.block(text))
      if StringLiteral.isPrintableAsBlock(text) {
        printable += 1
        #expect(back == text, "\(StringLiteral.block(text))")
      }
    }
    #expect(printable > 500)
  }
}

/// A generator that gives the same numbers for the same seed.
struct Random: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &+ 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  mutating func text() -> String {
    let parts = ["\"", "\"\"\"", "\\", "\n", " ", "  ", "\t", "a", "b", "é", "😀", "\r", "\u{7}", "word word", "}", "#"]
    return (0..<Int.random(in: 0...8, using: &self)).map { _ in parts.randomElement(using: &self) ?? "" }.joined()
  }
}
