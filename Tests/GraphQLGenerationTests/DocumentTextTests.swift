import Foundation
import GraphQLGeneration
import GraphQLLanguage
import Testing

/// The documents that are sent.
@Suite struct DocumentTextTests {
  private func document(
    _ text: String, schema: String = Sample.schema, extensions: String? = nil, minified: Bool = false
  ) throws -> String {
    try Sample.code(text, schema: schema, extensions: extensions) { $0.minifiesDocuments = minified }.operations[0]
      .document
  }

  @Test func `a document has the fragments that it uses, directly or through others, each once`() throws {
    let text =
      "query A { users { ...a ...b } } fragment a on User { ...b } fragment b on User { id } fragment c on User { id }"
    #expect(
      try document(text) == """
        query A { users { ...a ...b } }
        fragment a on User { ...b }
        fragment b on User { id }
        """)
  }

  @Test func `descriptions are not sent, as servers of before September 2025 refuse them`() throws {
    let text =
      "\"\"\"\nAll.\n\"\"\"\nquery A(\"The id.\" $id: ID!) { user(id: $id) { ...f } } \"F\" fragment f on User { id }"
    #expect(try document(text) == "query A($id: ID!) { user(id: $id) { ...f } }\nfragment f on User { id }")
    let code = try Sample.text(text)
    #expect(code.contains("/// Runs the query `A`, from any source.\n///\n/// All.\n"))
    #expect(code.contains("/// F\npublic struct F:"))
  }

  @Test func `directives of clients are not sent`() throws {
    let text =
      "query A { user(id: 1) @catch(to: NULL) { name @nonnull friends @required(action: NONE) @include(if: true) { id } } }"
    #expect(try document(text) == "query A { user(id: 1) { name friends @include(if: true) { id } } }")
  }

  @Test(arguments: [
    ("{search(text:\"\"){...f...on User{id}}}", "{search(text:\"\"){...f __typename ...on User{id}}}"),
    (
      "{search(text:\"\"){a:__typename@nonnull...on User{id}...f}}",
      "{search(text:\"\"){a:__typename __typename ...on User{id}...f}}"
    ),
    ("{user(id:1){name@nonnull age@required(action:NONE)id...g}}", "{user(id:1){name age id...g}}"),
    (
      "{user(id:1){name@catch(to:NULL)@required(action:NONE)id}search(text:\"\"){...f}}",
      "{user(id:1){name id}search(text:\"\"){...f}}"
    ),
  ])
  func `words that have nothing between them are not joined by what is added or left out`(
    selection: String, sent: String
  ) throws {
    let fragments = " fragment f on Item { __typename } fragment g on User { id }"
    let document = try document("query A" + selection + fragments)
    #expect(document.split(separator: "\n").first.map(String.init) == "query A" + sent)
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func `a comment before a directive of clients still ends with its line`(lineEnd: String) throws {
    let lines = [
      "query A($a: Boolean!) {", "  user(id: 1) # may fail", "    @catch(to: NULL) { name # and so may this,", "",
      "      @nonnull @include(if: $a)", "      friends", "        @nonnull { id } }", "}",
    ]
    #expect(
      try document(lines.joined(separator: lineEnd)) == """
        query A($a: Boolean!) {
          user(id: 1) # may fail
             { name # and so may this,

               @include(if: $a)
              friends { id } }
        }
        """)
  }

  @Test func `a minified document has what the document says, and no more`() throws {
    let text = """
      # All of it.
      query A($a: [ID!] = [1, 2], $b: String = "a # b") {
        users(filter: {name: $b, limit: -1}) @include(if: true) {
          id, ...f   # and more
        }
        search(text: \"\"\"
          block "x"
        \"\"\") { ... on User { id } }
        u: user(id: "\\"") { name }
      }
      fragment f on User { name, friends { id } }
      """
    let schema = Sample.schema.replacing("type Query {", with: "type Query { list(a: [ID!]): Int ")
    let whole = text.replacing("u: user", with: "list(a: $a) u: user")
    let minified = try document(whole, schema: schema, minified: true)
    #expect(
      minified == #"""
        query A($a:[ID!]=[1 2]$b:String="a # b"){users(filter:{name:$b limit:-1})@include(if:true){id...f}search(text:"""
            block "x"
          """){__typename...on User{id}}list(a:$a)u:user(id:"\""){name}}
        fragment f on User{name friends{id}}
        """#)
    let plain = try document(whole, schema: schema)
    #expect(try DocumentSyntax(parsing: minified).printed() == DocumentSyntax(parsing: plain).printed())
  }

  @Test func `the text in Swift is the document, with whatever characters it has`() throws {
    let text = try Sample.text(
      "query A { user(id: \"\\\"\\u0041\") { id } search(text: \"\"\"b\\\"\"\"\"\"\") { ... on User { id } } }")
    #expect(
      text.contains(
        "      #\"\"\"\n      query A { user(id: \"\\\"\\u0041\") { id } search(text: \"\"\"b\\\"\"\"\"\"\") { __typename ... on User { id } } }\n      \"\"\"#\n"
      ))
  }

  @Test func `line ends of any kind are line feeds in the document`() throws {
    #expect(try document("query A {\r\n  users {\r    id\n  }\r\n}\r\n") == "query A {\n  users {\n    id\n  }\n}")
  }

  @Test(arguments: [false, true])
  func `lines of a block string are lines of the literal, whatever ends them`(isMinified: Bool) throws {
    let document = "query A {\r\n  search(text: \"\"\"\r\n    a\r    b\n  \"\"\") { __typename }\r\n}"
    let text = try Sample.text(document) { $0.minifiesDocuments = isMinified }
    #expect(text.contains("\n          a\n          b\n        \"\"\")"))
    #expect(!text.utf8.contains(UInt8(ascii: "\r")))
  }

  @Test func `quotes and backslashes are seen also where a character combines with them`() throws {
    let quotes = try Sample.text("query A { # \"\"\"\u{301}\n users { id } }")
    #expect(quotes.contains("      #\"\"\"\n      query A { # \"\"\"\u{301}\n"))
    let backslash = try Sample.text("query A { # \\\u{301} \\#\u{200D}\n users { id } }")
    #expect(backslash.contains("      ##\"\"\"\n      query A { # \\\u{301} \\#\u{200D}\n"))
  }

  @Test func `control characters that the compiler refuses are escaped`() throws {
    let text = try Sample.text("query A { # \u{1}\t\u{7F}\n users { id } }")
    #expect(text.contains("      query A { # \\u{1}\t\\u{7f}\n"))
    let raw = try Sample.text("query A { # \\\u{1}\n users { id } }")
    #expect(raw.contains("      query A { # \\\\#u{1}\n"))
  }

  @Test func `what a document says cannot make code look like other code`() throws {
    let text = try Sample.text("query A { # \u{202E}\u{2066}\u{9B}é\n users { id } }")
    #expect(text.contains(#"query A { # \u{202e}\u{2066}\u{9b}é"#))
  }

  @Test func `what a schema says can neither control a terminal nor make code look like other code`() throws {
    let evil = "a\u{1B}[31m\u{7}b\u{202E}c\u{2066}d\u{9B}e\u{0}\tf"
    let schema = #"type Query { "\#(evil)" a: Int @deprecated(reason: "\#(evil)") "x\u{7F}" b: Int }"#
    let text = try Sample.text("query Q { a b }", schema: schema)
    let escaped = #"a\u{1b}[31m\u{7}b\u{202e}c\u{2066}d\u{9b}e\u{0}"#
    #expect(text.contains("/// \(escaped)\tf\n"))
    #expect(text.contains(#"message: "\#(escaped)\tf")"#))
    #expect(text.contains(#"/// x\u{7f}"#))
  }

  @Test func `schema extensions of Kotlin teams have their effect on what may be null`() throws {
    let schema = "type Query { a: A b: [A] c: Int d: Int } type A { x: Int y: [Int] }"
    let extensions = """
      extend schema @link(url: "https://specs.apollo.dev/nullability/v0.4/", import: ["@semanticNonNull", "@catch"])
      extend schema @link(url: "https://specs.apollo.dev/cache/v0.4", import: ["@typePolicy", "@fieldPolicy"])
      extend type Query @semanticNonNullField(name: "b", levels: [0, 1]) @nonnull(fields: "a d")
      extend type A @typePolicy(keyFields: "x") @semanticNonNullField(name: "x") @fieldPolicy(forField: "y", keyArgs: "z")
      """
    let text = try Sample.text(
      "query Q { a { x y } b { x @catch(to: NULL) } c @required(action: THROW) d }", schema: schema,
      extensions: extensions)
    for line in ["let a: A", "let b: [B]", "let c: Int", "let d: Int", "let x: Int", "let y: [Int?]?", "let x: Int?"] {
      #expect(text.contains("public \(line)\n"), "\(line)")
    }
    let ofSchema = try Sample.text(
      "query Q { a b }",
      schema:
        "directive @semanticNonNull(levels: [Int] = [0]) on FIELD_DEFINITION type Query { a: Int @semanticNonNull b: [Int] @semanticNonNull(levels: [1]) }"
    )
    #expect(ofSchema.contains("let a: Int\n"))
    #expect(ofSchema.contains("let b: [Int]?\n"))
  }

  @Test func `directives may have the names that links give them, and are not sent under those either`() throws {
    let extensions = """
      extend schema @link(
        url: "https://specs.apollo.dev/nullability/v0.4/"
        import: [{name: "@semanticNonNullField", as: "@never"}, {name: "@catch", as: "@mayFail"}, {name: "CatchTo", as: "How"}])
      extend type Query @never(name: "b", levels: [0, 1])
      """
    let text = try Sample.text(
      "query Q { b c: b @mayFail(to: NULL) }", schema: "type Query { b: [Int] }", extensions: extensions)
    #expect(text.contains("public let b: [Int]\n"))
    #expect(text.contains("public let c: [Int?]?\n"))
    #expect(text.contains("query Q { b c: b }"))
    let unknown = Sample.problems(
      "query Q { b @catch(to: SOON) }", schema: "type Query { b: [Int] }", extensions: extensions)
    #expect(unknown.count == 1)
  }

  @Test(arguments: [
    #"url: "https://specs.apollo.dev/nullability/v0.4""#,
    #"url: "https://example.com/nothing/v1.0", as: "nullability""#,
  ])
  func `what a link does not import has the link's name before its own`(link: String) throws {
    let extensions = """
      extend schema @link(\(link)) @link(url: "https://specs.apollo.dev/kotlin_labs/v0.3/", import: ["@nonnull"])
      extend type Query @nullability__semanticNonNullField(name: "b", levels: [0, 1]) @nonnull(fields: "a")
      """
    let text = try Sample.text(
      "query Q { a b c: b @nullability__catch(to: NULL) }", schema: "type Query { a: Int b: [Int] }",
      extensions: extensions)
    #expect(text.contains("public let a: Int\n"))
    #expect(text.contains("public let b: [Int]\n"))
    #expect(text.contains("public let c: [Int?]?\n"))
    #expect(text.contains("query Q { a b c: b }"))
    let unknown = Sample.problems(
      "query Q { b @nullability__catch(to: SOON) }", schema: "type Query { a: Int b: [Int] }", extensions: extensions)
    #expect(unknown.count == 1)
  }

  @Test func `a result for a field is read as its value or null, which is said`() throws {
    let code = try Sample.code(
      "query A { user(id: 1) @catch { id } }", extensions: "extend type Query @nonnull(fields: \"user\")")
    #expect(code.files.first?.text.contains("public let user: User?\n") == true)
    let warning = try #require(code.warnings.first?.description)
    #expect(code.warnings.count == 1)
    #expect(warning.hasPrefix("1.graphql:1:23: warning: a field has no result of its own: "))
  }

  @Test func `the same input gives the same text, in whatever order the files come`() throws {
    let texts = [
      "query A { users { ...f role } }", "fragment f on User { id born }",
      "query B($f: Filter) { users(filter: $f) { ...f } }",
    ]
    let sources = texts.enumerated().map { GenerationSource(name: "\($0).graphql", text: $1) }
    let schema = [GenerationSource(name: "s", text: Sample.schema)]
    let generator = Generator(Sample.configuration())
    let code = try generator.generate(schema: schema, documents: sources)
    #expect(try generator.generate(schema: schema, documents: sources.reversed()).files == code.files)
  }
}
