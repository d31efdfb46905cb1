import HTTPClientCore
import Testing

struct SanitizedTextTests {
  @Test(arguments: [
    "", "plain text", "Zoë Ångström", "早安 🌅", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "1️⃣", "🇸🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "می‌خواهم", "क्‍ष", "葛\u{E0100}",
    "ถ้ำ", "שָׁלוֹם", "a/b\\c <&>", "\u{A0}", "\u{3000}", "e\u{301}\u{302}",
  ])
  func `text that people write stays as it is`(text: String) {
    #expect(Array(text.sanitized().unicodeScalars) == Array(text.unicodeScalars))
  }

  @Test(arguments: [
    ("\u{1B}[31mred", #"\u{1B}[31mred"#), ("\u{1B}]0;title\u{7}", #"\u{1B}]0;title\u{7}"#),
    ("\u{9B}31m", #"\u{9B}31m"#),
    ("a\nb\r\nc\td", #"a\nb\r\nc\td"#), ("\u{0}\u{7F}\u{85}", #"\u{0}\u{7F}\u{85}"#),
    ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
    ("\u{202E}moc.elgoog", #"\u{202E}moc.elgoog"#), ("\u{2066}a\u{2069}", #"\u{2066}a\u{2069}"#),
    ("\u{200E}\u{200F}\u{61C}", #"\u{200E}\u{200F}\u{61C}"#), ("pay\u{200B}pal", #"pay\u{200B}pal"#),
    ("\u{FEFF}bom", #"\u{FEFF}bom"#), ("soft\u{AD}hyphen", #"soft\u{AD}hyphen"#), ("a\u{200D}b", #"a\u{200D}b"#),
    ("a\u{200C}b", #"a\u{200C}b"#), ("😀\u{200D}", #"😀\u{200D}"#), ("a\u{2060}b", #"a\u{2060}b"#),
    ("\u{3164}", #"\u{3164}"#), ("a\u{E0041}", #"a\u{E0041}"#), ("😀\u{E0041}", #"😀\u{E0041}"#),
    ("\u{FFF9}a", #"\u{FFF9}a"#),
    ("\u{180E}", #"\u{180E}"#), ("😀\u{FE0F}\u{FE01}", "😀\u{FE0F}" + #"\u{FE01}"#), ("a\u{34F}b", #"a\u{34F}b"#),
  ])
  func `characters that drive a terminal, hide or reorder text are escaped`(text: String, expected: String) {
    #expect(Array(text.sanitized().unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test func `every control of C0, DEL and C1 is written out`() {
    for value in Array(UInt32(0)...0x1F) + Array(0x7F...0x9F) {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = "a\(Character(scalar))b".sanitized()
      #expect(text.hasPrefix("a\\"))
      #expect(text.hasSuffix("b"))
      #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F })
    }
  }

  @Test func `a letter keeps eight marks, and the others are written out`() {
    let text = ("a" + String(repeating: "\u{301}", count: 1_000)).sanitized()
    #expect(text.unicodeScalars.filter { $0 == "\u{301}" }.count == 8)
    #expect(text.hasSuffix(#"\u{301}"#))
  }

  @Test func `a text is cut after so many bytes, between characters, with an ellipsis`() {
    #expect("abcdef".sanitized(upTo: 6) == "abcdef")
    #expect("abcdef".sanitized(upTo: 5) == "abcde…")
    #expect("早安".sanitized(upTo: 5) == "早…")
    #expect("a\u{1B}b".sanitized(upTo: 6) == "a…")
    #expect("a".sanitized(upTo: 0) == "…")
    #expect("".sanitized(upTo: 0) == "")
  }

  @Test func `a text that is cut is read no further than it is shown`() {
    let time = { (count: Int) in
      let text = "a" + String(repeating: "\u{301}", count: count)
      #expect(text.sanitized(upTo: 100) == "…")
      return (0..<5).map { _ in ContinuousClock().measure { _ = text.sanitized(upTo: 100) } }.min() ?? .zero
    }
    #expect(time(1_000_000) < time(1000) * 100)
  }

  @Test func `a sanitized text is not changed by sanitizing it again`() {
    let text = "\u{1B}]0;owned\u{7}\u{9B}31m\r\nforged \u{202E}txt.exe 早安".sanitized()
    #expect(text.sanitized() == text)
  }
}
