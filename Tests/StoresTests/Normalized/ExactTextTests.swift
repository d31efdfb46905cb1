import Foundation
import GraphQLClient
import StoresTestSupport
import StrictJSON
import Testing

@testable import Stores

/// Texts that Swift takes for equal, and that have other bytes: to a server, they are two.
@Suite struct ExactTextTests {
  private static let one = "caf\u{E9}"
  private static let other = "cafe\u{301}"

  private struct Card: Codable, Sendable {
    static let fragment: GraphQLDocument = "fragment card on Issue { title }"
    var title: String
  }

  private static func list(_ first: String, _ second: String) -> JSONValue {
    [
      "issues": [
        ["id": .string(one), "title": .string(first)], ["id": .string(other), "title": .string(second)],
      ]
    ]
  }

  @Test func `entities are two, and so are what is read of them`() throws {
    let entities = [Self.one, Self.other].map { EntityID("Issue", id: $0) }
    #expect(Set(entities).count == 2)
    #expect(EntityID(Self.one, id: "1") != EntityID(Self.other, id: "1"))
    #expect(EntityID("Issue", key: ["1", "2"]) != EntityID("Issue", key: ["1"]))
    let world = try NormalizedWorld()
    try world.store.receive(Self.list("a", "b"), of: GetIssuesWithIDs())
    let cards = entities.map { Recorder(world.store.values(Card.self, Card.fragment, of: $0)) }
    #expect(cards.map { $0.take().map(\.title) } == [["a"], ["b"]])
  }

  @Test func `fragments with two texts are two`() throws {
    let world = try NormalizedWorld()
    let entity = EntityID("Issue", id: "1")
    func fragment(_ text: String) -> GraphQLDocument {
      GraphQLDocument(rewritten: #"fragment card on Issue { title(style: "\#(text)") }"#)
    }
    let (one, other) = (fragment(Self.one), fragment(Self.other))
    let keys = [one, other].map { NormalizedKey(FragmentSource<Card>(document: $0, entity: entity)) }
    #expect(keys[0] != keys[1])
    let plans = try keys.map { try world.store.document(of: $0).rewritten.text.utf8.count }
    #expect(plans[0] != plans[1])
  }

  @Test func `two invalidations during a request are not one`() throws {
    let world = try NormalizedWorld()
    let slow = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    for id in [Self.one, Self.other] { world.store.invalidate(EntityID("Issue", id: id)) }
    world.server[0].data(issues((Self.other, "b"), (Self.one, "a")))
    #expect(world.store.missingPath(of: GetIssuesWithIDs())?.hasPrefix("issues.0.") == true)
    withExtendedLifetime(slow) {}
  }

  @Test func `an edit of one element is not taken for one of another`() throws {
    let world = try NormalizedWorld()
    try world.store.receive(Self.list("a", "b"), of: GetIssuesWithIDs())
    try world.store.update(GetIssuesWithIDs()) { $0.issues[1].title = "a" }
    #expect(world.store.peek(GetIssuesWithIDs())?.value?.issues.map(\.title) == ["a", "a"])
  }

  @Test func `an edit that only changes bytes is one`() throws {
    let world = try NormalizedWorld()
    try world.store.receive(Self.list("a", Self.one), of: GetIssuesWithIDs())
    try world.store.update(GetIssuesWithIDs()) { $0.issues[1].title = Self.other }
    let title = world.store.peek(GetIssuesWithIDs())?.value?.issues[1].title
    #expect(title.map { Array($0.utf8) } == Array(Self.other.utf8))
  }

  @Test func `two fields that the server has refused are not one`() throws {
    var test = TestCache()
    let document = "query Q($n: String!) { file(name: $n) }"
    for name in [Self.one, Self.other] { try test.write(document, #"{"file":1}"#, ["n": .string(name)]) }
    let root = try #require(test.cache.root("Query"))
    var refused = RefusedFields()
    test.cache.touched = []
    for name in [Self.one, Self.other] { _ = test.cache.remove(root, field: "file(name:\"\(name)\")") }
    refused.note(try #require(test.cache.touched), in: test.cache)
    #expect(Set(refused.fields(in: test.cache)).count == 2)
  }

  @Test func `dynamic variables are compared by bytes`() throws {
    struct Dynamic: GraphQLSession {
      typealias ResponseData = GetIssue.ResponseData
      static let query = GetIssue.query
      let variables: [String: JSONValue]
    }
    let keys = try [Self.one, Self.other].map { id in
      try NormalizedKey(Dynamic(variables: ["id": .string(id)]), by: JSONCoder())
    }
    #expect(keys[0] != keys[1])
    #expect(try keys[0] == NormalizedKey(Dynamic(variables: ["id": .string(Self.one)]), by: JSONCoder()))
  }

  @Test func `contexts of two identities share no request`() {
    #expect(!ReadContext(identity: Self.one).mayJoin(ReadContext(identity: Self.other)))
    #expect(ReadContext(identity: Self.one).mayJoin(ReadContext(identity: Self.one)))
    #expect(!ReadContext(identity: Self.one).mayJoin(ReadContext(identity: 1)))
    #expect(ReadContext(identity: 1).mayJoin(ReadContext(identity: 1)))
  }

  @Test func `two folders are two`() throws {
    let type = ObjectIdentifier(Self.self)
    #expect(StorageIdentity(type: type, path: Self.one) != StorageIdentity(type: type, path: Self.other))
    let signOuts = UnfinishedSignOuts<Int>()
    signOuts.begin(.init(generation: 1, next: 2), of: Self.one)
    #expect(signOuts.all(of: Self.other).isEmpty)
    #expect(signOuts.all(of: Self.one).count == 1)
    let first = try OpenOutbox(at: "/nowhere/" + Self.one)
    #expect(throws: Never.self) { _ = try OpenOutbox(at: "/nowhere/" + Self.other) }
    withExtendedLifetime(first) {}
  }
}
