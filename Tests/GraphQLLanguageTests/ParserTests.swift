import GraphQLLanguage
import Testing

@Suite struct ParserTests {
  @Test("A query reads as a tree: names, aliases, arguments, directives, fragments and variables")
  func query() throws {
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
    guard case .field(let field)? = operation.selectionSet.selections.first else { return #expect(Bool(false)) }
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

  @Test("A schema reads as a tree: descriptions, interfaces, arguments, defaults, directives and extensions")
  func schema() throws {
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
    guard case .directive(let directive) = Array(document.definitions)[8] else { return #expect(Bool(false)) }
    #expect(directive.isRepeatable)
    #expect(directive.locations == [.object, .interface])
    guard case .schema(let schema)? = document.definitions.first else { return #expect(Bool(false)) }
    #expect(schema.operationTypes.map(\.operation) == [.query, .mutation])
  }

  @Test("A hundred thousand nested braces are an error, not a crash")
  func nesting() {
    for opening in ["{", "{a", "{a(b:[", "{a(b:{c:", "query($a:[", "{...{"] {
      #expect(throws: GraphQLSyntaxError.self) {
        try DocumentSyntax(parsing: String(repeating: opening, count: 100_000), limits: SyntaxLimits(depth: .max))
      }
    }
    #expect(throws: GraphQLSyntaxError.self) {
      try DocumentSyntax(parsing: "query($a:" + String(repeating: "[", count: 100_000))
    }
  }
}
