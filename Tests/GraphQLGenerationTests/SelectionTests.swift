import Foundation
import GraphQLGeneration
import Testing

/// What the parts of a selection become.
@Suite struct SelectionTests {
  @Test func `what @include or @skip may leave out is optional, and what a constant keeps is not`() throws {
    let text = try Sample.text(
      """
      query A($a: Boolean!) {
        user(id: 1) { name @include(if: $a) id @skip(if: false) role @include(if: true) kept: age @skip(if: true) }
      }
      """)
    let user = text.declaration("struct User:")
    #expect(user.contains("let name: String?\n"))
    #expect(user.contains("let id: String\n"))
    #expect(user.contains("let role: GraphQLEnum<Role>\n"))
    #expect(user.contains("let kept: Int?\n"))
  }

  @Test func `a field that is selected twice is there if one of the selections is`() throws {
    let text = try Sample.text(
      """
      query A($a: Boolean!, $b: Boolean!) {
        user(id: 1) {
          friends @include(if: $a) { id }
          friends { name }
          ... @include(if: $a) { age }
          ... @include(if: $b) { age }
        }
      }
      """)
    let user = text.declaration("struct User:")
    #expect(user.contains("let friends: [Friends]\n"))
    #expect(user.contains("let age: Int?\n"))
    let friends = text.declaration("struct Friends:")
    #expect(friends.contains("let id: String?\n"))
    #expect(friends.contains("let name: String\n"))
  }

  @Test func `an object that may be left out is read if it is complete, as a fragment may select another part of it`()
    throws
  {
    let text = try Sample.text(
      "query A($a: Boolean!) { user(id: 1) @include(if: $a) { name } users @skip(if: $a) { id } ...f } fragment f on Query { user(id: 1) { id } }"
    )
    let data = text.declaration("struct ResponseData:")
    #expect(data.contains(#"user: json.valueIfComplete("user")"#))
    #expect(data.contains(#"users: json.listIfComplete("users")"#))
    #expect(
      try Sample.text("query A($a: Boolean!) { users { __typename @skip(if: $a) } }").contains(
        "json.optionalTypename()"))
  }

  @Test func `what is selected under one condition is there together`() throws {
    let text = try Sample.text("query A($a: Boolean!) { user(id: 1) { friends @include(if: $a) { id name } } }")
    #expect(text.declaration("struct User:").contains("let friends: [Friends]?\n"))
    #expect(text.declaration("struct Friends:").contains("let id: String\n"))
  }

  @Test func `a fragment that may be left out is told by a key that nothing else selects`() throws {
    let text = try Sample.text(
      """
      query A($a: Boolean!) { user(id: 1) { id ...f @include(if: $a) } }
      query B($a: Boolean!) { user(id: 1) { id name age ...f @skip(if: $a) } }
      query C($a: Boolean!) { user(id: 1) { ...f @skip(if: $a) ...f } }
      fragment f on User { id name age }
      """)
    #expect(text.contains("let f: F?\n"))
    #expect(text.contains(#"f: json.fragment(ifHas: "name")"#))
    // All is selected beside it: it is there if all is there.
    #expect(text.contains("f: json.fragmentIfComplete()"))
    #expect(text.contains("let user: F?\n"))
  }

  @Test func `a fragment on another interface that may be left out is there for objects of the interface alone`() throws
  {
    let text = try Sample.text(
      """
      query A($a: Boolean!) { search(text: "") { ... on Robot { model } ...named @include(if: $a) } }
      query B($a: Boolean!) { search(text: "") { ... on Named { name } ...named @skip(if: $a) } }
      fragment named on Named { name }
      """)
    let isNamed = "PossibleTypes.namedOfItem.contains(json.typename())"
    #expect(text.contains(#"named: \#(isNamed) ? json.fragment(ifHas: "name") : nil"#))
    #expect(text.contains("named: \(isNamed) ? json.fragmentIfComplete() : nil"))
    #expect(text.components(separatedBy: "{ __typename ...").count == 3)
  }

  @Test func `inline fragments without a type, or on a type that the object is of, are part of its selection`() throws {
    let text = try Sample.text("query A { user(id: 1) { ... { id } ... on Named { name } ... on User { age } } }")
    #expect(
      text.declaration("struct User:").hasPrefix(
        """
        public struct User: JSONSelection, Sendable {
          public let id: String
          public let name: String
          public let age: Int?
        """))
  }

  @Test func `of an abstract type, what is common to all is in the struct, and the rest in its kind`() throws {
    let text = try Sample.text(
      "query A { users { id } search(text: \"\") { __typename ... on Named { name } ... on User { ...f } ... on Robot { model } } }\n"
        + "fragment f on User { id }")
    let search = text.declaration("struct Search:")
    #expect(search.contains("let __typename: String\n"))
    #expect(search.contains("let asNamed: AsNamed?\n"))
    #expect(search.contains("let kind: Kind\n"))
    #expect(search.contains("case user(F)\n"))
    // It is selected already.
    #expect(text.components(separatedBy: "__typename ...").count == 2)
  }

  @Test func `the name of the type is asked for where it is needed, and nowhere else`() throws {
    let code = try Sample.code(
      "query A($a: Boolean!) {\n  search(text: \"\") {\n    ... on User { id }\n  }\n  s: search(text: \"\") {\n"
        + "    ... @include(if: $a) { ... on Robot { model } }\n  }\n  users { id }\n}")
    #expect(
      code.operations[0].document == """
        query A($a: Boolean!) {
          search(text: "") {
            __typename
            ... on User { id }
          }
          s: search(text: "") { __typename
            ... @include(if: $a) { ... on Robot { model } }
          }
          users { id }
        }
        """)
  }

  @Test func `lists of lists, with null or without, have their types`() throws {
    let schema = "type Query { a: [[Int!]!]! b: [[Int]] c: [ID] d: [[ID!]!]! e: [ID!] f: [Float!] }"
    let text = try Sample.text("query A { a b c d e f }", schema: schema)
    for line in [
      "let a: [[Int]]", "let b: [[Int?]?]?", "let c: [String?]?", "let d: [[String]]", "let e: [String]?",
      "let f: [Double]?", #"a: json.value("a"),"#, #"b: json.optionalValue("b"),"#,
      #"e: json.optionalIDs("e"),"#, #"f: json.optionalList("f")"#,
    ] {
      #expect(text.contains(line + "\n"))
    }
    #expect(
      text.contains(
        """
                d: json.value("d") { (json: inout JSONReader) throws(JSONError) in
                  try json.items { (json: inout JSONReader) throws(JSONError) in
                    try json.items { (json: inout JSONReader) throws(JSONError) in
                      try json.readID()
                    }
                  }
                },
        """))
  }

  @Test func `a fragment with @defer and a label is read as Deferred, and one without as optional members`() throws {
    let schema =
      "directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT\n" + Sample.schema
    let text = try Sample.text(
      """
      query A($if: Boolean!) {
        user(id: 1) {
          ...f @defer(label: "f")
          ... @defer(label: "and more", if: $if) { age }
          ... @defer { name }
          ... @defer(if: false) { role }
        }
      }
      fragment f on User { id }
      """, schema: schema)
    let user = text.declaration("struct User:")
    #expect(user.contains("let f: Deferred<F>\n"))
    #expect(user.contains("let andMore: Deferred<AndMore>\n"))
    #expect(user.contains(#"andMore: json.optionalValue("and more") ?? .pending"#))
    #expect(user.contains("let name: String?\n"))
    #expect(user.contains("let role: GraphQLEnum<Role>\n"))
    #expect(text.contains("func a(`if`: Bool) -> Observable<IncrementalResponse<ResponseData>>") == false)
    #expect(text.contains("func a(if: Bool) -> Observable<IncrementalResponse<ResponseData>>"))
    #expect(text.contains("self.init { $0.responses(on: client) }"))
  }

  @Test(arguments: [(#"a\"b"#, #"a\"b"#), (#"\\(f())"#, #"\\(f())"#), (#"\u0001\n"#, #"\u{1}\n"#)])
  func `a label may be any text, which the code has as a literal`(label: String, literal: String) throws {
    let schema =
      "directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT\n" + Sample.schema
    let text = try Sample.text("query A { user(id: 1) { ... @defer(label: \"\(label)\") { age } } }", schema: schema)
    #expect(text.contains("json.optionalValue(\"\(literal)\") ?? .pending"))
  }

  @Test func `a subscription is a session with events`() throws {
    let text = try Sample.text("subscription Renamed { renamed { name } }")
    #expect(text.contains("func renamed() -> Observable<LiveEvent<RenamedSession.ResponseData>>"))
    #expect(text.contains("struct Session: GraphQLSubscription {"))
    #expect(text.contains("self.init { $0.subscribe(on: client) }"))
  }

  @Test func `a mutation may have an idempotency key`() throws {
    let text = try Sample.text("mutation Rename($id: ID!) { rename(id: $id, name: \"a\") { id } }")
    #expect(text.contains("public let idempotencyKey: String?\n"))
    #expect(
      text.contains("init(id: String, errorPolicy: GraphQLErrorPolicy = .none, idempotencyKey: String? = nil) {"))
  }

  @Test func `a variable with a default may be left out, one that is nullable may also be null`() throws {
    let text = try Sample.text(
      "query A($a: String!, $b: Int! = 1, $c: [ID!]) { user(id: $a) { id } x: users(filter: {limit: $b}) { id } "
        + "y: search(text: \"\") { ... on User @include(if: true) { id } } z: node(ids: $c) }",
      schema: Sample.schema.replacing("type Query {", with: "type Query { node(ids: [ID!]): Int ").replacing(
        "user(id: ID!)", with: "user(id: String!)"))
    #expect(
      text.contains(
        "func a(a: String, b: Int? = nil, c: GraphQLNullable<[String]> = .absent) -> Observable<ResponseData> {"))
    #expect(text.contains(#"json.member("b", ifPresent: b)"#))
    #expect(text.contains(#"json.member("c", c)"#))
  }

  @Test func `a file among the variables is sent by its Encodable conformance, with progress`() throws {
    let schema =
      "scalar Upload type Query { a: Int } type Mutation { a(file: Upload!, more: [In!]): Int } input In { file: Upload }"
    let text = try Sample.text(
      "mutation A($file: Upload!, $more: [In!]) { a(file: $file, more: $more) }", schema: schema)
    #expect(text.contains("struct Variables: Encodable, Sendable {"))
    #expect(text.contains("public var file: GraphQLUpload\n"))
    #expect(text.contains("public let onProgress: (@Sendable (HTTPProgress) -> Void)?\n"))
    #expect(text.contains("public import HTTPClientCore\n"))
    let shared = try Sample.shared(
      "mutation A($more: [In!]) { a(file: null, more: $more) }", schema: schema.replacing("Upload!", with: "Upload"))
    #expect(shared.contains("public struct In: Encodable, Sendable {"))
  }
}
