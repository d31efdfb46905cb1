import Testing

@testable import moments

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
