import Foundation
import GraphQLLanguage
import Testing

@Suite struct PrinterTests {
  @Test(arguments: Self.samples)
  func `a document is printed in graphql-js's format`(text: String, printed: String) throws {
    #expect(try DocumentSyntax(parsing: text).printed() == printed)
    #expect(try DocumentSyntax(parsing: printed).printed() == printed)
  }

  private static let long = String(repeating: "x", count: 66)
  private static let samples: [(String, String)] = [
    ("query{a}", "{\n  a\n}"),
    ("query q{a}mutation{b}", "query q {\n  a\n}\n\nmutation {\n  b\n}"),
    ("query($a:Int=1@b,$c:[ID!]){a}", "query ($a: Int = 1 @b, $c: [ID!]) {\n  a\n}"),
    ("\"d\" query{a}", "\"d\"\nquery {\n  a\n}"),
    ("query(\"d\"$a:Int $b:Int){a}", "query (\n\"d\"\n$a: Int\n$b: Int\n) {\n  a\n}"),
    (
      "{a:b(c:1,d:{e:[f,$g],h:{}})@i{...j@k ...on L@m{n}...{o}}}",
      """
      {
        a: b(c: 1, d: { e: [f, $g], h: {  } }) @i {
          ...j @k
          ... on L @m {
            n
          }
          ... {
            o
          }
        }
      }
      """
    ),
    ("{a(b:\"\(long)\",c:1)}", "{\n  a(b: \"\(long)\", c: 1)\n}"),
    ("{a(b:\"\(long)\",c:12)}", "{\n  a(\n    b: \"\(long)\"\n    c: 12\n  )\n}"),
    ("{a(b:[\"\(long)\",123456789])}", "{\n  a(\n    b: [\n      \"\(long)\"\n      123456789\n    ]\n  )\n}"),
    ("fragment a on B@c{d}", "fragment a on B @c {\n  d\n}"),
    (
      "type A implements&B&C@d{\"e\" f(g:Int=1@h i:J):K!@l}",
      "type A implements B & C @d {\n  \"e\"\n  f(g: Int = 1 @h, i: J): K! @l\n}"
    ),
    ("type A{b(\"c\" d:Int e:F):G}", "type A {\n  b(\n    \"c\"\n    d: Int\n    e: F\n  ): G\n}"),
    (
      "\"\"\"\n  a\n    b\n\"\"\"union A@b=|C|D extend union A=E",
      "\"\"\"\na\n  b\n\"\"\"\nunion A @b = C | D\n\nextend union A = E"
    ),
    ("enum A{\"\"\"b\"\"\"C@d E}", "enum A {\n  \"\"\"b\"\"\"\n  C @d\n  E\n}"),
    ("input A@oneOf{b:C=1 d:[E!]!}scalar F@g", "input A @oneOf {\n  b: C = 1\n  d: [E!]!\n}\n\nscalar F @g"),
    (
      "schema@a{query:Q}extend schema@b{mutation:M}",
      "schema @a {\n  query: Q\n}\n\nextend schema @b {\n  mutation: M\n}"
    ),
    ("directive@a(b:C)repeatable on|FIELD|OBJECT", "directive @a(b: C) repeatable on FIELD | OBJECT"),
    ("interface A implements B{c:D}", "interface A implements B {\n  c: D\n}"),
  ]

  @Test func `comments can be kept: each before what it stood before, or at the end of the line that it ended`() throws
  {
    let text = """
      # header

      # about q
      query q( # variables
        $a: Int # the first
      ) {
        # before b
        b # after b

        # before c
        c(d: 1 # one
          e: 2) {
          f
          # last of c
        }
        # last
      } # end
      # very last
      """
    let printed = """
      # header

      # about q
      query q(
      # variables
      $a: Int # the first
      ) {
        # before b
        b # after b
        # before c
        c(
          d: 1 # one
          e: 2
        ) {
          f
          # last of c
        }
        # last
      } # end
      # very last
      """
    let document = try DocumentSyntax(parsing: text)
    #expect(document.printed(keepingComments: true) == printed)
    #expect(try DocumentSyntax(parsing: printed).printed(keepingComments: true) == printed)
    #expect(!document.printed().contains("#"))
  }

  @Test func `a printed document is printed the same again, and says the same, with and without its comments`() throws {
    var random = Random(3)
    for _ in 0..<1500 {
      let text = random.document()
      let document = try DocumentSyntax(parsing: text)
      let printed = document.printed()
      #expect(try DocumentSyntax(parsing: printed).printed() == printed, "\(text)")
      let kept = document.printed(keepingComments: true)
      let again = try DocumentSyntax(parsing: kept)
      #expect(again.printed(keepingComments: true) == kept, "\(text)")
      #expect(again.printed() == printed, "\(text)")
      #expect(
        kept.unicodeScalars.count { $0 == "§" } == text.unicodeScalars.count { $0 == "§" },
        "a comment is lost of \(text)")
    }
  }

  @Test func `any part of a document can be printed alone`() throws {
    let document = try DocumentSyntax(parsing: "query q { a(b:[1,2]) { c } }")
    let field = try #require(document.operations[0].selectionSet.selections.first)
    #expect(field.printed() == "a(b: [1, 2]) {\n  c\n}")
    #expect(try TypeSyntax(parsing: "[ Int ! ]!").printed() == "[Int!]!")
    #expect(try ValueSyntax(parsing: "{a:1}").printed() == "{ a: 1 }")
  }
}

extension Random {
  private mutating func one(of choices: String...) -> String { choices.randomElement(using: &self) ?? "" }

  private mutating func value(_ depth: Int = 0) -> String {
    switch Int.random(in: 0..<(depth < 4 ? 8 : 5), using: &self) {
    case 0: return one(of: "1", "-20", "1.5e3", "12345678901234567890")
    case 1: return StringLiteral.quoted(text())
    case 2: return StringLiteral.block(text().filter { $0 != "\u{7}" })
    case 3: return one(of: "true", "null", "ENUM", String(repeating: "N", count: 40))
    case 4: return "[]"
    case 5: return "{" + (0..<2).map { "k\($0): \(value(depth + 1))" }.joined(separator: ",") + comment() + "}"
    default: return "[" + (0..<3).map { _ in value(depth + 1) + comment() }.joined(separator: " ") + "]"
    }
  }

  private mutating func description() -> String { StringLiteral.block(text()) }

  private mutating func comment() -> String {
    one(of: "", "", " ", "\n", "# §\n", "\n\n# § x  \n", "\n# §\r\n\r\n #§\n")
  }

  /// An executable or a type system document, at random.
  fileprivate mutating func document() -> String {
    var text = comment()
    if Bool.random(using: &self) {
      text += one(of: "{", "query q($v: S = \(value()) \(comment())) @d {", "\"d\" mutation \(comment()) {")
      for index in 0..<3 {
        text += comment() + "f\(index)" + one(of: "", "(a: \(value())\(comment()) b: $v)") + comment()
        text += one(of: "", "@d(x: \(value()))", "{ \(comment()) x \(comment())}") + comment()
      }
      return text + " ... on T { y } ...g \(comment())}" + comment()
    }
    text += one(of: "extend type T @d", "\(description()) type T implements A & B", "\(description()) interface T")
    text += "{" + comment()
    for index in 0..<3 {
      text += one(of: "", "\"d\"", description()) + " f\(index)" + comment()
      text +=
        one(of: "", "(a: Int = 1\(comment()) b: S = \(value()))", "(\"d\" a: [S!]\(comment()) @d)") + ": T!" + comment()
    }
    return text + "}" + comment() + one(of: "", "enum E { A \(comment()) B }", "union U = A \(comment()) | B")
      + comment()
  }
}
