import GraphQLLanguage
import GraphQLSchema
import Testing

@Suite struct SchemaTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: """
        "The API."
        schema @link(url: "https://example.com") { query: Root }
        directive @link(url: String!) repeatable on SCHEMA
        directive @tag(name: String! = "x", rank: Int) on OBJECT | FIELD_DEFINITION
        "Any node."
        interface Node { id: ID! }
        interface Named implements Node { id: ID! name: String }
        type Root @tag {
          node("Which." id: ID!, depth: [[Int!]]! = [[1]]): Node
          search(filter: Filter): [Hit!]!
        }
        type User implements Node & Named { id: ID! name: String old: Int @deprecated older: Int @deprecated(reason: "No.") }
        type Post implements Node { id: ID! }
        union Hit = User | Post
        enum Role { ADMIN GUEST @deprecated }
        input Filter @oneOf { name: String role: Role }
        scalar URL @specifiedBy(url: "https://url.spec")
        extend type Post { title: String! }
        extend enum Role { OTHER }
        """)
  }

  @Test func `a schema has its types in the order of their definitions, and extensions add to them`() throws {
    #expect(schema.problems.isEmpty)
    #expect(
      schema.types.map(\.name) == ["Node", "Named", "Root", "User", "Post", "Hit", "Role", "Filter", "URL"])
    #expect(
      schema.types.map(\.kind) == [
        .interface, .interface, .object, .object, .object, .union, .enum, .inputObject, .scalar,
      ])
    #expect(try #require(schema.type(named: "Post")).fields.map(\.name) == ["id", "title"])
    #expect(try #require(schema.type(named: "Role")).values.map(\.name) == ["ADMIN", "GUEST", "OTHER"])
    #expect(schema.type(named: "Nobody") == nil)
    #expect(schema.type(named: "Int")?.isBuiltIn == true)
    #expect(schema.type(named: "__Type")?.field(named: "ofType")?.type.description == "__Type")
    #expect(schema.builtInTypes.count == 13)
    #expect(schema.description == "The API.")
  }

  @Test func `a field has its type, arguments and deprecation`() throws {
    let node = try #require(schema.rootType(of: .query)?.field(named: "node"))
    #expect(node.coordinate == "Root.node")
    #expect(node.type.description == "Node")
    #expect(node.arguments.map(\.name) == ["id", "depth"])
    let (id, depth) = (try #require(node.argument(named: "id")), try #require(node.argument(named: "depth")))
    #expect(id.isRequired)
    #expect(id.documentation == "Which.")
    #expect(!depth.isRequired)
    #expect(depth.type.description == "[[Int!]]!")
    #expect(depth.defaultValue?.text == "[[1]]")
    #expect(depth.type.item?.item?.isNonNull == true)
    #expect(node.argument(named: "old") == nil)
    let user = try #require(schema.type(named: "User"))
    #expect(user.field(named: "old")?.deprecationReason == "No longer supported")
    #expect(user.field(named: "older")?.deprecationReason == "No.")
    #expect(user.field(named: "id")?.isDeprecated == false)
    #expect(schema.type(named: "Role")?.value(named: "GUEST")?.isDeprecated == true)
    #expect(schema.type(named: "URL")?.specifiedByURL == "https://url.spec")
    #expect(schema.type(named: "Filter")?.isOneOf == true)
    #expect(schema.type(named: "Filter")?.inputField(named: "role")?.type.named.kind == .enum)
  }

  @Test func `meta fields are selectable where the specification has them`() throws {
    let (root, user, hit) = (
      try #require(schema.type(named: "Root")), try #require(schema.type(named: "User")),
      try #require(schema.type(named: "Hit"))
    )
    #expect(hit.selectableField(named: "__typename")?.type.description == "String!")
    #expect(root.selectableField(named: "__schema") != nil)
    #expect(root.selectableField(named: "__type") != nil)
    #expect(user.selectableField(named: "__schema") == nil)
    #expect(user.selectableField(named: "id") == user.field(named: "id"))
    #expect(user.field(named: "__typename") == nil)
    #expect(schema.type(named: "Role")?.selectableField(named: "__typename") == nil)
  }

  @Test func `types know their possible types, what they are subtypes of, and which types they overlap with`() throws {
    func type(_ name: String) throws -> NamedType { try #require(schema.type(named: name)) }
    #expect(try type("Node").possibleTypes.map(\.name) == ["User", "Post"])
    #expect(try type("Named").possibleTypes.map(\.name) == ["User"])
    #expect(try type("Hit").possibleTypes.map(\.name) == ["User", "Post"])
    #expect(try type("User").possibleTypes.map(\.name) == ["User"])
    #expect(try type("User").interfaces.map(\.name) == ["Node", "Named"])
    #expect(try type("User").isSubtype(of: type("Node")))
    #expect(try type("Named").isSubtype(of: type("Node")))
    #expect(try type("Post").isSubtype(of: type("Hit")))
    #expect(try !type("Post").isSubtype(of: type("Named")))
    #expect(try type("Named").overlaps(type("Hit")))
    #expect(try !type("Named").overlaps(type("Post")))
  }

  @Test func `directives have locations, arguments, and may be repeatable`() throws {
    #expect(schema.directives.map(\.name) == ["link", "tag"])
    let tag = try #require(schema.directive(named: "tag"))
    #expect(tag.locations == [.object, .fieldDefinition])
    #expect(!tag.isRepeatable)
    #expect(tag.argument(named: "rank")?.type.description == "Int")
    #expect(schema.directive(named: "link")?.isRepeatable == true)
    #expect(schema.builtInDirectives.map(\.name).sorted() == ["deprecated", "include", "oneOf", "skip", "specifiedBy"])
    #expect(try #require(schema.type(named: "Root")).directives.map(\.name.text) == ["tag"])
  }

  @Test func `a schema with faults is used as far as it goes, and says what is wrong`() throws {
    let schema = try Schema(
      parsing: """
        type Query { a: Int a: String b: Strin c(x: Int, x: ID): Int id: ID c2(id: ID): ID id: ID }
        type Query { z: Int }
        enum E { A B A }
        union U = Query | E
        extend type Nope { a: Int }
        extend input Query { a: Int }
        """)
    #expect(
      schema.problems.map(\.description) == [
        "error: the type \"Query\" is defined more than once [UniqueTypeNames] (1:6)",
        "error: the type \"Nope\" is extended, but not defined. [PossibleTypeExtensions] (5:13)",
        "error: \"Query\" is an object type, and cannot be extended as an input object [PossibleTypeExtensions] (1:6)",
        "warning: the field \"a\" of \"Query\" is defined more than once; the first counts [UniqueFieldDefinitionNames] (1:14)",
        "error: the type \"Strin\" is not defined. Did you mean \"String\"? [KnownTypeNames] (1:34)",
        "warning: the argument \"x\" of \"Query.c\" is defined more than once; the first counts [UniqueArgumentDefinitionNames] (1:42)",
        "warning: the field \"id\" of \"Query\" is defined more than once; the first counts [UniqueFieldDefinitionNames] (1:62)",
        "warning: the value \"A\" of \"E\" is defined more than once; the first counts [UniqueEnumValueNames] (3:10)",
        "error: \"U\" has \"E\" as a member, which is an enum and not an object type [UnionMembers] (4:19)",
      ])
    #expect(schema.type(named: "Query")?.fields.map(\.name) == ["a", "c", "id", "c2"])
    #expect(schema.type(named: "Query")?.field(named: "a")?.type.description == "Int")
  }

  @Test(arguments: [
    "type user implements node { id: ID node: node }",
    "type user { id: ID node: node } extend type user implements node",
  ])
  func `a type keeps its field and its interface, although both have one name`(type: String) throws {
    let schema = try Schema(parsing: "interface node { id: ID } \(type) type Query { user: user }")
    #expect(schema.problems.isEmpty)
    let user = try #require(schema.type(named: "user"))
    #expect(user.fields.map(\.name) == ["id", "node"])
    #expect(user.interfaces.map(\.name) == ["node"])
    #expect(schema.type(named: "node")?.possibleTypes.map(\.name) == ["user"])
  }

  @Test func `lists nest fifteen levels deep, and no deeper`() throws {
    func schema(_ depth: Int) throws -> Schema {
      let open = String(repeating: "[", count: depth)
      return try Schema(parsing: "type Query { a: \(open)Int!\(String(repeating: "]!", count: depth)) }")
    }
    let deepest = try schema(15)
    #expect(deepest.problems.isEmpty)
    #expect(
      deepest.type(named: "Query")?.field(named: "a")?.type.description.hasSuffix("Int!]!]!]!]!]!]!]!]!]!]!]!]!]!]!]!")
        == true)
    #expect(try schema(16).problems.first?.rule == "KnownTypeNames")
  }
}
