import Testing

/// Swift files, of which the literals that are documents are checked.
@Suite struct SwiftSourceTests {
  private let folder: WorkFolder
  private let schema: String

  init() throws {
    folder = try WorkFolder()
    schema = try folder.file("schema.graphql", "type Query { user(id: ID, text: String): User }\ntype User { id: ID! }")
  }

  private func validate(_ sources: String...) async throws -> WorkFolder.Run {
    var files: [String] = []
    for (index, source) in sources.enumerated() { files.append(try folder.file("\(index).swift", source)) }
    return try await folder.run(["validate", "--schema", schema] + files)
  }

  /// The lines and columns of the errors, in order.
  private func places(_ run: WorkFolder.Run) -> [String] {
    run.output.split(separator: "\n").filter { $0.contains(": error: ") }.map { line in
      line.split(separator: ":").dropFirst().prefix(2).joined(separator: ":")
    }
  }

  @Test(arguments: [
    #"let q: GraphQLDocument = "query q { no }""#, #"let q = GraphQLDocument("query q { no }")"#,
    #"let q = "query q { no }" as GraphQLDocument"#, #"let q: Networking.GraphQLDocument = "query q { no }""#,
    #"let q: GraphQLDocument? = "query q { no }""#, #"let q: Document = "query q { no }""#,
    #"let p: GraphQLDocument = .f, q: GraphQLDocument = "query q { no }""#, ##"let q: Document = #"query q { no }"#"##,
    #"static var query: GraphQLDocument { "{ no }" }"#, #"let q = "{ no }" as Networking.GraphQLDocument"#,
    #"let q = "\u{23} a comment\nquery { no }""#, #"/* " */ let q: Document = "mutation q { no }""#,
    #"let text = "\("query \(1)")}", q: Document = "subscription q { no }""#,
  ])
  func `a document is read however it is declared`(source: String) async throws {
    let result = try await validate(source)
    #expect(result.code == 65, "\(result.output)\(result.errors)")
    #expect(result.errors.hasPrefix("1 operation and no fragments in 1 literal of 1 Swift file: 1 error"))
  }

  @Test func `both branches of a condition are read`() async throws {
    let result = try await validate(
      """
      #if DEBUG
        let q: GraphQLDocument = "query q { no }"
      #else
        let q: GraphQLDocument = "query q { none }"
      #endif
      """)
    #expect(places(result) == ["2:39", "4:39"])
  }

  @Test func `a literal is read as the compiler reads it, and its errors have their places in the file`() async throws {
    let source = #"""
      // let a = "query no { a }"
      /* let b: /* nested */ GraphQLDocument = "query no { a }" */
      let a: GraphQLDocument =
        """
        query a($id: ID) {
          user(id: $id, text: "\u{1F600}\t\\\\") { x \
          y }
        # this is no continuation: \\
          z
        }
        """ + .f
      let b: GraphQLDocument = "query b { user { é\u{20}x\n  y } }"
      """#.replacing("é", with: "")
    let result = try await validate(source)
    #expect(places(result) == ["6:46", "7:5", "9:5", "12:50", "12:55"], "\(result.output)")
    #expect(try await validate(source.replacing("\n", with: "\r\n")).output == result.output)
  }

  @Test func `constants of one name in several files are kept apart`() async throws {
    let file = { (fields: String) in
      """
      private enum F { static let f: GraphQLDocument = "fragment f on User { \(fields) }" }
      struct GetUser: GraphQLSession { static let query: GraphQLDocument = "query getUser { user { ...f } }" + F.f }
      """
    }
    let result = try await validate(file("id"), file("no"))
    #expect(result.code == 65)
    #expect(result.output.contains("1.swift:1:72: error: "))
    #expect(places(result) == ["1:72"])
    let unclear = try await validate(
      file("id"), file("id, id"), #"let q: GraphQLDocument = "query c { user { ...f } }" + F.f"#)
    #expect(unclear.code == 0)
    #expect(unclear.output.contains("0.swift:1:51: warning: there are 2 fragments \"f\", "))
  }

  @Test func `what could be a document and cannot be read is named and counted`() async throws {
    let result = try await validate(
      #"""
      let a = "query a { \(fields) }"
      let b: GraphQLDocument = "query b { user { id } }"
      // The type is far away.

      let c: Document = "{ user }"
      let d = "{\"a\": 1}", e = "query the server again", f = "mutation (of genes)", g = "fragment of text"
      let open = """
        query never { ends }
      """#)
    #expect(result.code == 0)
    #expect(result.output.contains("0.swift:1:9: warning: this literal cannot be read: it has an interpolation\n"))
    #expect(result.output.contains("0.swift:5:19: warning: this literal cannot be read: it may be a query"))
    #expect(result.output.contains("0.swift:7:12: warning: this literal cannot be read: it does not end\n"))
    #expect(
      result.errors
        == "1 operation and no fragments in 1 literal of 1 Swift file (3 literals could not be read): no errors, "
        + "3 warnings\n")
  }
}
