import HTTP
import Testing

@Suite struct HarmlessTests {
  @Test func `S5: every control character is made visible`() {
    for control in controls {
      let code = String(control.value, radix: 16, uppercase: true)
      #expect("a\(control)b".harmless() == "a\\u{\(code)}b")
    }
  }

  @Test(arguments: [
    0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069,
  ])
  func `S5: bidirectional marks and line separators are made visible`(code: UInt32) throws {
    let scalar = try #require(Unicode.Scalar(code))
    #expect("a\(scalar)b".harmless() == "a\\u{\(String(code, radix: 16, uppercase: true))}b")
  }

  @Test func `a line break of two characters is made visible whole`() {
    #expect("a\r\nb".harmless() == #"a\u{D}\u{A}b"#)
  }

  @Test(arguments: ["", "plain", "早安 🌅", "👩‍👩‍👧‍👦", "e\u{301}", "שלום", "back\\slash", "\u{FFFD}"])
  func `text that does no harm stays as it is`(text: String) {
    #expect(text.harmless() == text)
    #expect(text.harmless().harmless() == text.harmless())
  }

  @Test func `a text is cut after so many bytes, between characters, with an ellipsis`() {
    #expect("abcdef".harmless(upTo: 6) == "abcdef")
    #expect("abcdef".harmless(upTo: 5) == "abcde…")
    #expect("早安".harmless(upTo: 5) == "早…")
    #expect("a\u{1B}b".harmless(upTo: 6) == "a…")
    #expect("a".harmless(upTo: 0) == "…")
    #expect("".harmless(upTo: 0) == "")
  }

  @Test func `S5: nothing of a hostile title can drive a terminal`() {
    let title = "\u{1B}]0;owned\u{7}\u{1B}[2J\u{9B}31m\r\nforged line\u{202E}txt.exe"
    let shown = title.harmless()
    #expect(shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    #expect(shown == #"\u{1B}]0;owned\u{7}\u{1B}[2J\u{9B}31m\u{D}\u{A}forged line\u{202E}txt.exe"#)
  }
}
