import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import StrictJSON
import Testing

@Suite struct FixturesTests {
  private let fixtures: Fixtures

  init() throws {
    fixtures = Fixtures(try Schema(parsing: SessionCheckTests.sdl))
  }

  private struct GetMe: GraphQLSession {
    struct Friend: Decodable, Hashable, Sendable {
      let id: String
      let name: String
    }
    struct User: Decodable, Hashable, Sendable {
      let id: String
      let name: String
      let nickname: String?
      let role: GraphQLEnum<SessionCheckTests.Role>
      let age: Int
      let friends: [Friend?]
      let best: Friend?
    }
    struct ResponseData: Decodable, Hashable, Sendable { let me: User }
    static let query: GraphQLDocument = """
      query getMe { me { id name nickname role age friends { id name } best { id name } } }
      """
  }

  @Test func `a seed gives valid data, the same each time, and other data for another seed`() throws {
    let data = try fixtures.data(for: GetMe.self, seed: 7)
    #expect(try fixtures.data(for: GetMe.self, seed: 7) == data)
    let all = try (0..<50).map { try fixtures.data(for: GetMe.self, seed: $0, nulls: 0.5, lengths: 0...4) }
    #expect(Set(all).count > 45)
    #expect(all.contains { $0.me.nickname == nil })
    #expect(all.contains { $0.me.nickname != nil })
    #expect(all.contains { $0.me.friends.isEmpty })
    #expect(all.contains { $0.me.friends.contains(nil) })
    #expect(Set(all.map(\.me.role.rawValue)) == ["ADMIN", "GUEST"])
    for data in all {
      let ids = [data.me.id] + data.me.friends.compactMap { $0?.id } + (data.me.best.map { [$0.id] } ?? [])
      #expect(Set(ids).count == ids.count)
    }
  }

  @Test func `without nulls and with one length, everything is there`() throws {
    let me = try fixtures.data(for: GetMe.self, nulls: 0, lengths: 3...3).me
    #expect(me.friends.count == 3)
    #expect(!me.friends.contains(nil))
    #expect(me.nickname != nil)
    #expect(me.best != nil)
  }

  @Test func `values can be given by path: fields, parts of objects, all items or one, whole lists, and null`() throws {
    func me(_ overrides: [String: JSONValue]) throws -> GetMe.User {
      try fixtures.data(for: GetMe.self, seed: 1, nulls: 0.5, overrides: overrides).me
    }
    #expect(try me(["me.name": "Wei"]).name == "Wei")
    #expect(try me(["me": ["name": "Wei", "age": 7]]).age == 7)
    #expect(try me(["me.nickname": .null, "me.role": "GUEST"]).nickname == nil)
    #expect(try me(["me.friends[3].name": "Ana"]).friends[3]?.name == "Ana")
    #expect(try me(["me.friends[].name": "Ana"]).friends.allSatisfy { $0?.name == "Ana" })
    #expect(try me(["me.friends": []]).friends.isEmpty)
    let friends = try me(["me.friends": [["name": "Ana"], [:], .null]]).friends
    #expect(friends.count == 3)
    #expect(friends[0]?.name == "Ana")
    #expect(friends[1] != nil)
    #expect(friends[2] == nil)
    #expect(try me(["me.best.name": "Ana", "me.best": ["id": "x"]]).best == GetMe.Friend(id: "x", name: "Ana"))
  }

  @Test func `the type of an object is chosen by its __typename`() throws {
    for (type, field) in [("Tag", "label"), ("User", "name"), ("Post", "title")] {
      let body = try fixtures.body(for: Search.self, overrides: ["search": [["__typename": .string(type)]]])
      #expect(body.contains("\"__typename\": \"\(type)\", \"\(field)\": "))
      let changed = try fixtures.body(
        for: Search.self, lengths: 1...1, overrides: ["search[0].__typename": .string(type)])
      #expect(changed.contains("\"__typename\": \"\(type)\", \"\(field)\": "))
    }
    let overrides: [[String: JSONValue]] = [["search[0].__typename": "Psot"], ["search": [["__typename": "Psot"]]]]
    for override in overrides {
      let error = #expect(throws: FixtureError.self) { try fixtures.body(for: Search.self, overrides: override) }
      #expect(
        error?.description
          == "data.search[]: it is Hit!, so its type cannot be \"Psot\"; did you mean Post?.")
    }
  }

  private struct Search: GraphQLSession {
    typealias ResponseData = [String: [JSONValue]]
    static let query: GraphQLDocument = """
      query search { search(text: "a") { __typename ... on User { name } ... on Post { title } ... on Tag { label } } }
      """
  }

  @Test(
    arguments: [
      (
        ["me.nmae": "Wei"], "data.me.nmae: the document selects no such field of User; did you mean name?"
      ),
      (["me.name": 1], "data.me.name: it is String!, so it cannot be 1."),
      (["me.name": .null], "data.me.name: it is String!, so it cannot be null."),
      (["me.role": "ADMN"], "data.me.role: it is Role!, so it cannot be \"ADMN\"."),
      (["me.friends": "Wei"], "data.me.friends: it is [User]!, so it cannot be a value of another kind."),
      (["me.name.first": "Wei"], "data.me.name: it is String!, so it has no first."),
      (["me[0]": "Wei"], "data.me: it is User!, so it has no items."),
      (["me..a": 1], "\"me..a\" is no path such as user.name, user.friends[0].name or user.friends[].name."),
      (
        ["me.friends[x]": 1],
        "\"me.friends[x]\" is no path such as user.name, user.friends[0].name or user.friends[].name."
      ),
    ] as [([String: JSONValue], String)])
  func `an override that does not fit says where and why`(overrides: [String: JSONValue], message: String) {
    let error = #expect(throws: FixtureError.self) { try fixtures.data(for: GetMe.self, overrides: overrides) }
    #expect(error?.description == message)
  }

  @Test func `a session that does not fit its schema has no fixture, and the error says why`() {
    let error = #expect(throws: FixtureError.self) { try fixtures.data(for: SessionCheckTests.WrongDocument.self) }
    #expect(error?.description.contains("User has no field \"naem\"") == true)
    #expect(throws: FixtureError.self) { try fixtures.data(for: SessionCheckTests.Misspelt.self) }
    #expect(throws: FixtureError.self) { try fixtures.data(for: SessionCheckTests.NoDocument.self) }
  }

  @Test func `a scalar that nothing is known of gets a value that the session reads`() throws {
    _ = try fixtures.data(for: SessionCheckTests.Unknown.self)
    _ = try fixtures.data(for: SessionCheckTests.Dates.self)
  }
}
