import GraphQLLanguage
import TestSupport
import Testing

@Suite struct LexerTests {
  @Test func `white space, commas, comments and byte order marks separate tokens and mean nothing`() throws {
    let text = "\u{FEFF}{,,a\t,b\r\n# comment } \"\n,c # é\r d}\u{FEFF}#end"
    #expect(try DocumentSyntax(parsing: text).printed() == "{\n  a\n  b\n  c\n  d\n}")
  }

  @Test func `lines end with a line feed, a carriage return or both; columns count UTF-16 code units`() throws {
    let document = try DocumentSyntax(parsing: "{ a\n  b\r\n c\r d(x: \"é😀\") e }")
    let fields = document.operations[0].selectionSet.selections.map(\.location)
    #expect(
      fields == [
        SourceLocation(line: 1, column: 3), SourceLocation(line: 2, column: 3), SourceLocation(line: 3, column: 2),
        SourceLocation(line: 4, column: 2), SourceLocation(line: 4, column: 14),
      ])
  }

  @Test(arguments: Self.wrong)
  func `tokens that are wrong give their place and what is wrong with them`(value: String, column: Int, message: String)
  {
    let error = #expect(throws: GraphQLSyntaxError.self) { try DocumentSyntax(parsing: "{a(b:\(value))}") }
    #expect(error?.location == SourceLocation(line: 1, column: 5 + column))
    #expect(error?.message == message)
  }

  private static let wrong: [(String, Int, String)] = [
    ("00", 2, "expected the end of the number, which begins with 0, found another digit"),
    ("-", 2, "expected a digit of the number, found \")\""),
    ("1.", 3, "expected a digit of the number, found \")\""),
    ("1.e5", 3, "expected a digit of the number, found \"e\""),
    ("1e", 3, "expected a digit of the number, found \")\""),
    ("+1", 1, "found \"+\", which is no part of the language"),
    (".5", 1, "expected \"...\", found \".\""),
    ("1a", 2, "expected the end of the number, found \"a\""),
    ("1.5.2", 4, "expected the end of the number, found \".\""),
    ("0xF", 2, "expected the end of the number, found \"x\""),
    ("..", 1, "expected \"...\", found \".\""),
    ("?", 1, "found \"?\", which is no part of the language"),
    ("é", 1, "found the character U+00E9, which is no part of the language"),
    ("\u{7}", 1, "found the character U+0007, which is no part of the language"),
    ("\0", 1, "found the character U+0000, which is no part of the language"),
    ("'a'", 1, "found \"'\", which is no part of the language"),
    (#""a"#, 5, "the string is not closed before the text ends"),
    ("\"a\n\"", 3, "the string is not closed before the line ends"),
    (#""""a"""#, 9, "the block string is not closed before the text ends"),
    (#""\x""#, 2, #"expected an escape sequence such as \n, found "x" after the backslash"#),
    (#""\u12""#, 2, #"the escape sequence "\u12" is no Unicode scalar value"#),
    (#""\uD83D""#, 2, #"the escape sequence "\uD83D" is no Unicode scalar value"#),
    (#""\uDE00\uD83D""#, 2, #"the escape sequence "\uDE00" is no Unicode scalar value"#),
    (#""\uD83D\u0041""#, 2, #"the escape sequence "\uD83D" is no Unicode scalar value"#),
    (#""\u{110000}""#, 2, #"the escape sequence "\u{110000}" is no Unicode scalar value"#),
    (#""\u{D800}""#, 2, #"the escape sequence "\u{D800}" is no Unicode scalar value"#),
    (#""\u{}""#, 2, #"the escape sequence "\u{}" is no Unicode scalar value"#),
    (#""\u{41""#, 2, #"the escape sequence "\u{41" is no Unicode scalar value"#),
  ]

  @Test func `bytes that are not UTF-8 are refused at their place`() throws {
    let error = #expect(throws: GraphQLSyntaxError.self) {
      try DocumentSyntax(parsing: Array("{ a\n # é ".utf8) + [0xC3, 0x28] + Array("\n}".utf8))
    }
    #expect(error == GraphQLSyntaxError("the text is not UTF-8", at: SourceLocation(line: 2, column: 6)))
  }

  @Test func `V3: more tokens than the limit are refused`() throws {
    let limits = SyntaxLimits(tokens: 100)
    let name = String(repeating: "a ", count: 98)
    #expect(throws: Never.self) { try DocumentSyntax(parsing: "{\(name)}", limits: limits) }
    let error = #expect(throws: GraphQLSyntaxError.self) {
      try DocumentSyntax(parsing: "{\(name)b}", limits: limits)
    }
    #expect(
      error?.description == "line 1, column 199: the text has more than 100 tokens, which is the limit")
  }

  @Test func `V3: a hundred thousand of what nests are an error, not a crash, also with the greatest limit`() {
    for opening in ["{", "{a", "{a(b:[", "{a(b:{c:", "query($a:[", "{...{", "{a@b(c:["] {
      for limits in [SyntaxLimits.standard, SyntaxLimits(depth: .max)] {
        let error = #expect(throws: GraphQLSyntaxError.self) {
          try DocumentSyntax(parsing: String(repeating: opening, count: 100_000), limits: limits)
        }
        #expect(error != nil)
      }
    }
    let error = #expect(throws: GraphQLSyntaxError.self) {
      try DocumentSyntax(parsing: String(repeating: "{a", count: 100_000))
    }
    #expect(
      error?.description == "line 1, column 401: the text is nested deeper than 200 levels, which is the limit")
  }

  @Test func `V3: what nests as deep as any limit allows is parsed and printed on the smallest stack`() async throws {
    let depth = SyntaxLimits.greatestDepth - 1
    for (opening, closing) in [("{a", "}"), ("{...", "}"), ("{a{...on A", "}}")] {
      let count = depth / opening.count { $0 == "{" }
      try await expectRoundTrip(
        String(repeating: opening, count: count), "{b}", String(repeating: closing, count: count))
    }
    for (opening, closing) in [("[", "]"), ("{a:", "}"), ("[{a:", "}]")] {
      let count = (depth - 1) / opening.count { $0 != "a" && $0 != ":" }
      try await expectRoundTrip(
        "{a(b:" + String(repeating: opening, count: count), "1", String(repeating: closing, count: count) + ")}")
    }
    try await expectRoundTrip(
      "query($a:" + String(repeating: "[", count: depth), "Int", String(repeating: "]!", count: depth) + "){a}")
  }

  private func expectRoundTrip(_ opening: String, _ middle: String, _ closing: String) async throws {
    let text = opening + middle + closing
    let printed = try await onSmallStack {
      try DocumentSyntax(parsing: text, limits: SyntaxLimits(depth: .max)).printed()
    }
    #expect(printed.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
  }
}
