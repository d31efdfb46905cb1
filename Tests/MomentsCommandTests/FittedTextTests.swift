import Testing
@testable import moments

struct FittedTextTests {
  @Test(arguments: [
    ("moments", 10, "moments"), ("moments", 7, "moments"), ("moments", 6, "momen…"), ("moments", 1, "…"),
    ("moments", 0, ""),
    ("", 0, ""), ("王小明", 6, "王小明"), ("王小明", 5, "王小…"), ("王小明", 4, "王…"), ("a b c", 3, "a…"), ("👩‍👩‍👧‍👦👍", 3, "👩‍👩‍👧‍👦…"),
  ])
  func `text is cut to its columns`(text: String, columns: Int, expected: String) {
    #expect(text.truncated(toColumns: columns) == expected)
  }

  @Test(arguments: [
    ("", 10, []), ("a quick fox", 20, ["a quick fox"]), ("a quick fox", 7, ["a quick", "fox"]),
    ("a quick fox", 6, ["a", "quick", "fox"]), ("abcdefgh ij", 4, ["abcd", "efgh", "ij"]), ("早安上海", 4, ["早安", "上海"]),
    ("早安，上海", 4, ["早", "安，", "上海"]), ("hi 早安", 5, ["hi 早", "安"]), ("早ab", 3, ["早", "ab"]), ("早", 1, ["早"]),
    ("a  b", 2, ["a", "b"]),
  ])
  func `text is broken at spaces and beside wide characters`(text: String, columns: Int, expected: [String]) {
    #expect(text.wrapped(toColumns: columns) == expected)
  }

  @Test func `the last allowed line ends in an ellipsis`() {
    #expect("one two three four".wrapped(toColumns: 5, lineLimit: 2) == ["one", "two…"])
    #expect("one two".wrapped(toColumns: 5, lineLimit: 2) == ["one", "two"])
  }

  @Test func `no line is wider than its limit, and no visible character is lost`() {
    let text = "Lorem 早安上海 ipsum 👩‍👩‍👧‍👦👍🏽 dolor，sit amet 🇸🇪 consectetur e\u{301}lit"
    for columns in 2...80 {
      let lines = text.wrapped(toColumns: columns)
      #expect(lines.allSatisfy { $0.columns <= columns })
      #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }
  }
}

struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("Lin Wei", 7), ("Zoë", 3), ("Zoe\u{308}", 3), ("王小明", 6), ("，。", 4), ("ｱ", 1), ("Ａ", 2), ("한국", 4),
    ("\u{1112}\u{1161}\u{11AB}", 2), ("かな", 4), ("カﾞ", 2 + 1), ("𠮷", 2), ("🌅", 2), ("☀", 1), ("☀️", 2), ("❤️", 2),
    ("♥", 1),
    ("👍🏽", 2), ("👩‍👩‍👧‍👦", 2), ("🏳️‍🌈", 2), ("🇸🇪", 2), ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", 2), ("1️⃣", 2), ("#⃣", 2), ("⌚", 2), ("ก็", 1),
    ("नि", 2), ("العربية", 7), ("שָׁלוֹם", 4), ("…", 1), ("─", 1), ("€", 1), ("🀄", 2), ("🈁", 2), ("㊙", 2), ("☯", 1),
    ("㉈", 1),
  ])
  func `text takes the columns that a terminal gives it`(text: String, columns: Int) {
    #expect(text.columns == columns)
  }
}
