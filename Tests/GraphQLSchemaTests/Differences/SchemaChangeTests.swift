import GraphQLLanguage
import GraphQLSchema
import Testing

@Suite struct SchemaChangeTests {
  private func changes(_ old: String, _ new: String) throws -> [String] {
    let query = " type Query { q: Int }"
    return try Schema(parsing: old + query).changes(to: Schema(parsing: new + query)).map(\.description)
  }

  @Test(arguments: [
    ("type A { a: Int }", "", "breaking: the type A is removed"),
    ("", "type A { a: Int }", "safe: the type A is added"),
    ("type A { a: Int }", "interface A { a: Int }", "breaking: A is an interface, and no longer an object type"),
    ("type A { a: Int b: Int }", "type A { a: Int }", "breaking: the field A.b is removed"),
    ("type A { a: Int }", "type A { a: Int b: Int }", "safe: the field A.b is added"),
    ("type A { a: Int }", "type A { a: Int! }", "safe: the field A.a is Int!, and no longer Int"),
    ("type A { a: Int! }", "type A { a: Int }", "breaking: the field A.a is Int, and no longer Int!"),
    ("type A { a: [Int] }", "type A { a: [Int!] }", "safe: the field A.a is [Int!], and no longer [Int]"),
    ("type A { a: [Int] }", "type A { a: Int }", "breaking: the field A.a is Int, and no longer [Int]"),
    ("type A { a: Int }", "type A { a(x: Int): Int }", "dangerous: the optional argument A.a(x:) is added"),
    ("type A { a: Int }", "type A { a(x: Int!): Int }", "breaking: the required argument A.a(x:) is added"),
    ("type A { a(x: Int): Int }", "type A { a: Int }", "breaking: the argument A.a(x:) is removed"),
    (
      "type A { a(x: Int!): Int }", "type A { a(x: Int): Int }",
      "safe: the argument A.a(x:) is Int, and no longer Int!"
    ),
    (
      "type A { a(x: Int): Int }", "type A { a(x: Int!): Int }",
      "breaking: the argument A.a(x:) is Int!, and no longer Int"
    ),
    (
      "type A { a(x: Int = 1): Int }", "type A { a(x: Int = 2): Int }",
      "dangerous: the default of the argument A.a(x:) is 2, and no longer 1"
    ),
    (
      "type A { a(x: Int = 1): Int }", "type A { a(x: Int): Int }",
      "dangerous: the argument A.a(x:) loses its default 1"
    ),
    (
      "type A { a(x: Int! = 1): Int }", "type A { a(x: Int!): Int }",
      "breaking: the argument A.a(x:) loses its default 1, and becomes required"
    ),
    ("type A { a(x: Int): Int }", "type A { a(x: Int = 1): Int }", "safe: the argument A.a(x:) has the default 1"),
    ("type A { a: Int }", "type A { a: Int @deprecated(reason: \"b\") }", "safe: A.a is deprecated: b"),
    ("\"x\" type A { a: Int }", "\"y\" type A { a: Int }", "safe: the description of A is changed"),
    ("enum E { A B }", "enum E { A }", "breaking: the value E.B is removed"),
    ("enum E { A }", "enum E { A B }", "dangerous: the value E.B is added"),
    (
      "union U = Query | A type A { a: Int }", "union U = A type A { a: Int }",
      "breaking: Query is removed from the union U"
    ),
    (
      "union U = A type A { a: Int }", "union U = Query | A type A { a: Int }",
      "dangerous: Query is added to the union U"
    ),
    ("input I { a: Int b: Int }", "input I { a: Int }", "breaking: the field I.b is removed"),
    ("input I { a: Int }", "input I { a: Int b: Int }", "dangerous: the optional field I.b is added"),
    ("input I { a: Int }", "input I { a: Int b: Int! }", "breaking: the required field I.b is added"),
    ("input I { a: Int }", "input I { a: Int b: Int! = 1 }", "dangerous: the optional field I.b is added"),
    ("input I { a: Int }", "input I @oneOf { a: Int }", "breaking: I takes exactly one field (@oneOf)"),
    (
      "interface I { a: Int } type A implements I { a: Int }", "interface I { a: Int } type A { a: Int }",
      "breaking: A no longer implements I"
    ),
    (
      "interface I { a: Int } type A { a: Int }", "interface I { a: Int } type A implements I { a: Int }",
      "dangerous: A implements I"
    ),
    ("directive @d on FIELD", "", "breaking: the directive @d is removed"),
    ("directive @d on FIELD", "directive @d(x: Int!) on FIELD", "breaking: the required argument @d(x:) is added"),
    ("directive @d on FIELD", "directive @d(x: Int) on FIELD", "safe: the optional argument @d(x:) is added"),
    ("directive @d on FIELD | QUERY", "directive @d on FIELD", "breaking: @d can no longer stand on QUERY"),
    ("directive @d repeatable on FIELD", "directive @d on FIELD", "breaking: @d is no longer repeatable"),
  ])
  func `a change is breaking, dangerous or safe`(old: String, new: String, change: String) throws {
    #expect(try changes(old, new) == [change])
    #expect(try changes(old, old).isEmpty)
  }

  @Test(arguments: [
    ("x: I = { a: 1, b: 2 }", "x: I = { b: 2, a: 1 }"), ("x: Float = 1.0", "x: Float = 1"),
    ("x: [Int] = 1", "x: [Int] = [1]"), (#"x: String = "a""#, #"x: String = """a""""#), ("x: ID = 1", #"x: ID = "1""#),
  ])
  func `a default that is written otherwise is no change`(old: String, new: String) throws {
    let input = " input I { a: Int b: Int }"
    #expect(try changes("type A { a(\(old)): Int }" + input, "type A { a(\(new)): Int }" + input).isEmpty)
  }

  @Test(arguments: [
    ("I = { a: 1 }", "I = { a: 2 }"), ("Int = A", "Int = B"), ("Float = 1.0", "Float = 1.5"), ("S = A", #"S = "A""#),
  ])
  func `a default with another value is a dangerous change, also where it does not fit its type`(
    old: String, new: String
  ) throws {
    let input = " scalar S input I { a: Int }"
    let changes = try changes("type A { a(x: \(old)): Int }" + input, "type A { a(x: \(new)): Int }" + input)
    #expect(changes.count == 1)
    #expect(changes.first?.hasPrefix("dangerous: the default of the argument A.a(x:)") == true)
  }

  @Test func `the worst changes come first`() throws {
    #expect(
      try changes("type A { a: Int } enum E { X }", "type B { a: Int } enum E { X Y }") == [
        "breaking: the type A is removed", "dangerous: the value E.Y is added", "safe: the type B is added",
      ])
  }

  @Test(arguments: [
    ("query A { user { name } }", "User.name", true), ("query A { user { id } }", "User.name", false),
    ("query A { user { ...F } } fragment F on User { friends { name } }", "User.name", true),
    ("query A { find(filter: { text: \"x\" }) { id } }", "Filter.text", true),
    ("query A { find(filter: { role: ADMIN }) { id } }", "Filter.text", false),
    ("query A($f: Filter) { find(filter: $f) { id } }", "Filter.text", true),
    ("query A { user { role } }", "Role.GUEST", true), ("query A { user { id } }", "Role.GUEST", false),
    ("query A { find(filter: { role: ADMIN }) { id } }", "Role.GUEST", true),
    ("query A { user(id: 1) { id } }", "Query.user(id:)", true),
    ("query A { user { id } }", "Query.user(id:)", false),
    ("query A { user @log { id } }", "@log", true), ("query A { user { id } }", "@log", false),
  ])
  func `an operation is affected by a change of what it uses, and no other`(
    document: String, coordinate: String, isAffected: Bool
  ) throws {
    let old = try Schema(
      parsing: """
        type Query { user(id: ID): User find(filter: Filter): [User] } type User { id: ID name: String friends: [User] role: Role }
        enum Role { ADMIN GUEST } input Filter { text: String role: Role } directive @log on FIELD
        """)
    let new = try Schema(
      parsing: """
        type Query { user: User find(filter: Filter): [User] } type User { id: ID friends: [User] role: Role }
        enum Role { ADMIN } input Filter { role: Role }
        """)
    let change = try #require(old.changes(to: new).first { $0.coordinate == coordinate })
    #expect(change.impact == .breaking)
    let operations = old.operations(in: try DocumentSyntax(parsing: document), affectedBy: change)
    #expect(operations.compactMap { $0.name?.text } == (isAffected ? ["A"] : []))
  }

  @Test(arguments: [
    ("f(x: Int): Int", "f(x: Int!): Int", "query A { f }"),
    ("f(x: Int! = 1): Int", "f(x: Int!): Int", "query A { f }"),
    ("f(x: I): Int } input I { a: Int", "f(x: I): Int } input I { a: Int!", "query A { f(x: {}) }"),
    ("f(x: I): Int } input I { a: Int", "f(x: I): Int } input I { a: Int!", "query A($x: I) { f(x: $x) }"),
    (
      "f: Int } directive @d(x: Int) on FIELD input I { a: Int",
      "f: Int } directive @d(x: Int!) on FIELD input I { a: Int", "query A { f @d }"
    ),
  ])
  func `an operation is affected by an argument or input field that becomes required, although it does not give it`(
    old: String, new: String, document: String
  ) throws {
    let schema = try Schema(parsing: "type Query { other: Int \(old) }")
    let changes = try schema.changes(to: Schema(parsing: "type Query { other: Int \(new) }"))
    #expect(changes.map(\.impact) == [.breaking])
    let change = try #require(changes.first)
    let documents = try [document, "query B { other }"].map { try DocumentSyntax(parsing: $0) }
    let affected = documents.flatMap { schema.operations(in: $0, affectedBy: change) }
    #expect(affected.compactMap { $0.name?.text } == ["A"])
  }
}
