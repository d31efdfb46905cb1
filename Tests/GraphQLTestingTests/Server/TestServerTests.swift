import Foundation
import GraphQLLanguage
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import StrictJSON
import Testing

@Suite struct TestServerTests {
  private let schema: Schema
  private let server: TestServer

  init() throws {
    schema = try Schema(
      parsing: """
        interface Node { id: ID! }
        type User implements Node { id: ID! name: String! age: Int friends(first: Int = 2): [User!]! role: Role joined: Date pet: Pet }
        type Cat implements Node { id: ID! lives: Int! }
        type Dog implements Node { id: ID! barks: Boolean! }
        union Pet = Cat | Dog
        enum Role { ADMIN GUEST OLD @deprecated }
        scalar Date
        type Query { user(id: ID!): User node(id: ID!): Node users: [User!] strict: User! }
        type Mutation { rename(id: ID!, name: String!): User! }
        type Subscription { renamed: User! }
        """)
    server = TestServer(schema: schema)
  }

  private func data(_ query: String, _ variables: [String: JSONValue] = [:]) -> JSONValue? {
    server.execute(query, variables: variables).data?.json
  }

  @Test func `a field is resolved by its closure, the rest by the parent's members, and the rest is made up`() throws {
    try server.resolve("Query.user") { ["id": $0.arguments["id"] ?? .null, "name": "Wei"] }
    try server.resolve("User.friends") { request in
      #expect(request.parent["name"] == "Wei")
      return .array(Array(repeating: [:], count: Int(request.arguments["first"]?.integerValue ?? 0)))
    }
    let user = data("{ user(id: 7) { id name age friends { name } role } }")?["user"]
    #expect(user?["id"] == "7")
    #expect(user?["name"] == "Wei")
    #expect(user?["friends"]?.arrayValue?.count == 2)
    #expect(user?["age"]?.integerValue != nil)
    #expect(["ADMIN", "GUEST"].contains(user?["role"]?.stringValue))
  }

  @Test func `what is made up is valid, and the same for the same seed`() throws {
    let query =
      "{ users { __typename id name age joined pet { __typename ... on Cat { lives } ... on Dog { barks } } } node(id: 1) { id } }"
    let result = server.execute(query)
    #expect(result.errors.isEmpty)
    #expect(TestServer(schema: schema).execute(query).data == result.data)
    #expect(TestServer(schema: schema, seed: 2).execute(query).data != result.data)
    let count = try #require(result.data?.json["users"]?.arrayValue?.count)
    #expect((1...3).contains(count))
  }

  @Test func `lengths of lists, nulls and samples of scalars can be chosen`() throws {
    let samples: ScalarSamples = ["Date": ["2026-11-25"], "User.name": ["Wei", "Ana"]]
    let server = TestServer(schema: schema, samples: samples, lengths: 0...0)
    let data = server.execute("{ users { id } user(id: 1) { name joined } }").data?.json
    #expect(data?["users"] == [])
    #expect(data?["user"]?["joined"] == "2026-11-25")
    #expect(["Wei", "Ana"].contains(data?["user"]?["name"]?.stringValue))
    let nulls = TestServer(schema: schema, nulls: 1)
    #expect(nulls.execute("{ users { id } }").data?.json == ["users": .null])
  }

  @Test func `an object of an interface or union gets a type that fits its members, if it names none`() throws {
    try server.resolve("Query.node") { _ in ["lives": 9] }
    try server.resolve("User.pet") { _ in ["__typename": "Dog", "barks": true] }
    #expect(data("{ node(id: 1) { __typename ... on Cat { lives } } }")?["node"] == ["__typename": "Cat", "lives": 9])
    let pet = data("{ user(id: 1) { pet { __typename ... on Dog { barks } } } }")?["user"]?["pet"]
    #expect(pet == ["__typename": "Dog", "barks": true])
  }

  @Test func `a closure of an interface's field resolves it for all objects without a closure of their own`() throws {
    try server.resolve("Node.id") { _ in "of all" }
    try server.resolve("Dog.id") { _ in "of dogs" }
    try server.resolve("Query.users") { _ in [["pet": ["__typename": "Dog"]]] }
    let user = data("{ users { id pet { ... on Node { id } } } }")?["users"]?.arrayValue?.first
    #expect(user == ["id": "of all", "pet": ["id": "of dogs"]])
  }

  @Test func `an injected error has message, extensions, path and places, and its null propagates`() throws {
    try server.fail("User.name", "no name", extensions: ["code": "GONE"])
    try server.resolve("Query.users") { _ in [[:], [:]] }
    let result = server.execute("{ user(id: 1) { id name } users { name } }")
    #expect(result.data?.json == ["user": .null, "users": .null])
    #expect(result.errors.map(\.message) == ["no name", "no name"])
    #expect(result.errors.first?.extensions == ["code": "GONE"])
    #expect(result.errors.map(\.path) == [[.key("user"), .key("name")], [.key("users"), .index(0), .key("name")]])
    #expect(result.errors.first?.locations.map(\.description) == ["1:20"])
    #expect(server.execute("{ strict { name } }").data?.json == JSONValue.null)
  }

  @Test func `a coordinate that the schema does not have is refused, with what may be meant`() {
    #expect(throws: (any Error).self) { try server.resolve("Query.user.id") { _ in 1 } }
    do {
      try server.resolve("Query.usr") { _ in 1 }
      Issue.record("it is accepted")
    } catch {
      #expect(error.description == "the schema has no field Query.usr; did you mean Query.user?")
    }
  }

  @Test func `the introspection gives the schema`() throws {
    let data = data(
      "{ __schema { queryType { name } types { name } } __type(name: \"Pet\") { kind possibleTypes { name } } }")
    #expect(data?["__schema"]?["queryType"] == ["name": "Query"])
    #expect(data?["__type"] == ["kind": "UNION", "possibleTypes": [["name": "Cat"], ["name": "Dog"]]])
  }
}
