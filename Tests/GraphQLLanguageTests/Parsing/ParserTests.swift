import GraphQLLanguage
import Testing

@Suite struct ParserTests {
  @Test func `a query reads as a tree: names, aliases, arguments, directives, fragments and variables`() throws {
    let document = try DocumentSyntax(
      parsing: """
        "Reads a user"
        query user("Whose" $id: ID!, $sizes: [Int!]! = [1, 2] @a) @b(c: 1) {
          user: node(id: $id, filter: { role: ADMIN, tags: ["a", "b"], deep: { on: true, off: null } }) @include(if: $x) {
            ... on User @c { name }
            ...rest
            ... { id }
          }
        }
        fragment rest on Node { id }
        { shorthand }
        """)
    #expect(document.definitions.count == 3)
    let operation = document.operations[0]
    #expect(operation.kind == .query)
    #expect(operation.name?.text == "user")
    #expect(operation.description?.value == "Reads a user")
    #expect(operation.variables.map(\.name.text) == ["id", "sizes"])
    let id = try #require(operation.variables.first)
    #expect(id.description?.value == "Whose")
    #expect(id.type.text == "ID!")
    #expect(id.type.isNonNull)
    #expect(id.defaultValue == nil)
    let sizes = operation.variables[operation.variables.index(after: operation.variables.startIndex)]
    #expect(sizes.type.text == "[Int!]!")
    #expect(sizes.defaultValue?.text == "[1, 2]")
    #expect(sizes.directives.map(\.name.text) == ["a"])
    #expect(operation.directives.map(\.text) == ["@b(c: 1)"])
    let field = try #require(operation.selectionSet.selections.first.flatMap { FieldSyntax($0.node) })
    #expect(field.alias?.text == "user")
    #expect(field.responseName.text == "user")
    #expect(field.name.text == "node")
    #expect(field.arguments.map(\.name.text) == ["id", "filter"])
    #expect(field.directives.map(\.name.text) == ["include"])
    #expect(field.location == SourceLocation(line: 3, column: 3))
    #expect(field.name.location == SourceLocation(line: 3, column: 9))
    let selections = try #require(field.selectionSet?.selections)
    #expect(selections.map(\.text) == ["... on User @c { name }", "...rest", "... { id }"])
    #expect(document.fragments.map(\.name.text) == ["rest"])
    #expect(document.fragments[0].typeCondition.name.text == "Node")
    #expect(document.operations[1].isShorthand)
  }

  @Test func `a schema reads as a tree: descriptions, interfaces, arguments, defaults, directives and extensions`()
    throws
  {
    let document = try DocumentSyntax(
      parsing: """
        "The schema" schema @s { query: Query mutation: M }
        extend schema { subscription: S }
        \"""A user\"""
        type User implements & Node & Named @key(fields: "id") {
          "The id" id: ID!
          posts("How many" first: Int = 10 @d, after: String): [Post!]! @deprecated
        }
        interface Node implements Named { id: ID! }
        union Hit @u = | User | Post
        enum Role { "all" ADMIN GUEST @deprecated(reason: "old") }
        input Filter @oneOf { role: Role = ADMIN ids: [ID!] }
        scalar Date @specifiedBy(url: "x")
        directive @key(fields: String!) repeatable on | OBJECT | INTERFACE
        extend type User { age: Int }
        extend union Hit = Tag
        type Empty
        """)
    #expect(document.definitions.count == 12)
    let types = document.definitions.compactMap { TypeDefinitionSyntax($0.node) }
    #expect(types.map(\.name.text) == ["User", "Node", "Hit", "Role", "Filter", "Date", "User", "Hit", "Empty"])
    #expect(types.map(\.isExtension) == [false, false, false, false, false, false, true, true, false])
    let user = types[0]
    #expect(user.description?.value == "A user")
    #expect(user.interfaces.map(\.name.text) == ["Node", "Named"])
    let fields = Array(user.fields)
    #expect(fields.map(\.name.text) == ["id", "posts"])
    #expect(fields[0].description?.value == "The id")
    #expect(fields[1].arguments.map { $0.defaultValue?.text } == ["10", nil])
    #expect(fields[1].arguments.map { $0.description?.value } == ["How many", nil])
    #expect(fields[1].type.text == "[Post!]!")
    #expect(types[2].members.map(\.name.text) == ["User", "Post"])
    #expect(types[3].values.map(\.name.text) == ["ADMIN", "GUEST"])
    #expect(types[4].inputFields.map { $0.defaultValue?.text } == ["ADMIN", nil])
    let directive = try #require(document.definitions.compactMap { DirectiveDefinitionSyntax($0.node) }.first)
    #expect(directive.isRepeatable)
    #expect(directive.locations == [.object, .interface])
    let schema = try #require(document.definitions.first.flatMap { SchemaDefinitionSyntax($0.node) })
    #expect(schema.operationTypes.map(\.operation) == [.query, .mutation])
  }

  @Test func `the kinds of values are distinguished, and a string's escape sequences are replaced`() throws {
    func kind(_ text: String) throws -> ValueSyntax.Kind { try ValueSyntax(parsing: text, isConstant: false).kind }
    if case .int("-0") = try kind("-0") {} else { Issue.record("-0 is no integer") }
    if case .float("1.5E+3") = try kind("1.5E+3") {} else { Issue.record("1.5E+3 is no float") }
    if case .boolean(true) = try kind("true") {} else { Issue.record("true is no boolean") }
    if case .null = try kind("null") {} else { Issue.record("null is not null") }
    if case .enumValue(let name) = try kind("ON"), name.text == "ON" {} else { Issue.record("ON is no enum value") }
    if case .variable(let name) = try kind("$on"), name.text == "on" {} else { Issue.record("$on is no variable") }
    if case .string(let string) = try kind(#""a\n\u00e9""#), string.value == "a\né" {
    } else {
      Issue.record("no string")
    }
    if case .object(let fields) = try kind("{a: [1, [2]], b: {}}") {
      #expect(fields.map(\.name.text) == ["a", "b"])
      if case .list(let elements)? = fields.first?.value.kind {
        #expect(elements.map(\.text) == ["1", "[2]"])
      } else {
        Issue.record("the first field is no list")
      }
    } else {
      Issue.record("no object")
    }
  }

  @Test func `a keyword is a name wherever the grammar allows a name`() throws {
    for word in ["query", "on", "fragment", "type", "true", "null", "extend", "implements", "repeatable"] {
      let query = "query \(word)($\(word): \(word)) { \(word): \(word)(\(word): 1) @\(word) }"
      #expect(try DocumentSyntax(parsing: query).operations.first?.name?.text == word)
      let type = "type \(word) implements \(word) @\(word) { \(word)(\(word): \(word)): \(word) }"
      #expect(try DocumentSyntax(parsing: type).definitions.count == 1)
    }
  }

  @Test(arguments: Self.wrong)
  func `text that is no document gives the place, what was expected, and what was found`(
    text: String, description: String
  ) {
    let error = #expect(throws: GraphQLSyntaxError.self) { try DocumentSyntax(parsing: text) }
    #expect(error?.description == description)
  }

  private static let aDefinition = "expected a definition, such as query, fragment or type"
  private static let wrong: [(String, String)] = [
    ("", "line 1, column 1: \(aDefinition), found the end of the text"),
    (" \n# only a comment", "line 2, column 17: \(aDefinition), found the end of the text"),
    ("querry { a }", "line 1, column 1: \(aDefinition), found \"querry\""),
    ("{ a }\n}", "line 2, column 1: \(aDefinition), found \"}\""),
    ("{", "line 1, column 2: expected a selection or \"}\", found the end of the text"),
    ("{ a", "line 1, column 4: expected a selection or \"}\", found the end of the text"),
    ("{}", "line 1, column 2: expected a selection: a field or \"...\", found \"}\""),
    ("{ a: }", "line 1, column 6: expected the name of a field after its alias, found \"}\""),
    ("{ a() }", "line 1, column 5: expected the name of an argument, found \")\""),
    ("{ a(b) }", "line 1, column 6: expected \":\" and the value of the argument, found \")\""),
    ("{ a(b: ) }", "line 1, column 8: expected a value, found \")\""),
    ("{ a(b: [1 }", "line 1, column 11: expected a value, found \"}\""),
    ("{ a(b: {1: 2}) }", "line 1, column 9: expected the name of an input field or \"}\", found \"1\""),
    ("{ a @ }", "line 1, column 7: expected the name of a directive, found \"}\""),
    ("{ ...on }", "line 1, column 9: expected the type of the fragment, found \"}\""),
    ("query q { a } mutation", "line 1, column 23: expected \"{\" and a selection, found the end of the text"),
    ("query q() { a }", "line 1, column 9: expected a variable, such as $id: ID!, found \")\""),
    ("query q($a) { a }", "line 1, column 11: expected \":\" and the type of the variable, found \")\""),
    ("query q($a: [Int) { a }", "line 1, column 17: expected \"]\" after the type of the elements, found \")\""),
    (
      "query q($a: Int = $b) { a }",
      "line 1, column 19: expected a constant value, since no variable may stand here, found \"$\""
    ),
    (
      "fragment on on User { a }",
      "line 1, column 10: expected the name of a fragment, which must not be \"on\", found \"on\""
    ),
    ("fragment f User { a }", "line 1, column 12: expected \"on\" and the type of the fragment, found \"User\""),
    ("\"a\" { b }", "line 1, column 5: \(aDefinition), found \"{\""),
    ("\"a\" extend type A @b", "line 1, column 1: an extension has no description; only a definition has one"),
    ("\"a\" b", "line 1, column 1: a description stands before a definition, but this one is before \"b\""),
    ("extend type A", "line 1, column 14: expected what the extension adds, found the end of the text"),
    ("extend schema", "line 1, column 14: expected what the extension adds, found the end of the text"),
    (
      "extend directive @a on FIELD",
      "line 1, column 8: expected what is extended: schema, scalar, type, interface, union, enum or input, "
        + "found \"directive\""
    ),
    ("schema @a", "line 1, column 10: expected \"{\", found the end of the text"),
    ("schema { querry: Q }", "line 1, column 10: expected query, mutation or subscription, found \"querry\""),
    ("type A {}", "line 1, column 9: expected the name of a field, found \"}\""),
    ("type A { b }", "line 1, column 12: expected \":\" and the type of the field, found \"}\""),
    ("type A { b: !Int }", "line 1, column 13: expected a type, found \"!\""),
    ("type A { b: Int!! }", "line 1, column 17: expected the name of a field, found \"!\""),
    ("type A implements B C { b: Int }", "line 1, column 21: \(aDefinition), found \"C\""),
    ("union A = | ", "line 1, column 13: expected the name of a member type, found the end of the text"),
    (
      "enum A { null }",
      "line 1, column 10: expected the name of an enum value, which must not be true, false or null, found \"null\""
    ),
    (
      "directive @a on FIELDS",
      "line 1, column 17: expected a directive's location, such as FIELD or OBJECT, found \"FIELDS\""
    ),
    ("directive a on FIELD", "line 1, column 11: expected \"@\" and the name of the directive, found \"a\""),
  ]
}
