import GraphQLLanguage
import Testing

@testable import Stores

struct DocumentRewritingTests {
  private func rewritten(_ document: String, _ change: (inout RecordSchema) -> Void = { _ in }) throws -> String {
    var schema = RecordSchema()
    schema.fieldTypes = [
      "Query": ["user": "User"], "User": ["id": "ID", "friend": "User", "address": "Address"], "Address": [:],
    ]
    change(&schema)
    return try schema.addingKeys(to: document)
  }

  @Test("fields with subfields get __typename, and the key where the type has it")
  func additions() throws {
    #expect(
      try rewritten("{ user { name address { city } } }")
        == "{ user { __typename id  name address { __typename  city } } }")
  }

  @Test("what is selected under its own name is not added again")
  func alreadySelected() throws {
    #expect(try rewritten("{ user { name id __typename } }") == "{ user { name id __typename } }")
  }

  @Test("a field under an alias or a condition does not count as selected")
  func aliasedOrConditional() throws {
    #expect(
      try rewritten("{ user { uid: id __typename } }") == "{ user { id  uid: id __typename } }")
    #expect(
      try rewritten("query ($x: Boolean!) { user { id @include(if: $x) __typename } }")
        == "query ($x: Boolean!) { user { id  id @include(if: $x) __typename } }")
  }

  @Test("a name that another field has is left to it")
  func takenName() throws {
    #expect(
      try rewritten("{ user { id: name __typename: kind } }")
        == "{ user { key___typename: __typename key_id: id  id: name __typename: kind } }")
  }

  @Test("the root gets nothing, nor does a fragment on it")
  func roots() throws {
    #expect(try rewritten("subscription { event }") == "subscription { event }")
    #expect(
      try rewritten("fragment F on Query { a }") { $0.addsKeyToUnknownTypes = true } == "fragment F on Query { a }")
  }

  @Test("fragments get the key of their type once")
  func fragments() throws {
    #expect(
      try rewritten("{ node { ... on User { name ... @include(if: true) { age } } } }")
        == "{ node { __typename  ... on User { id  name ... @include(if: true) { age } } } }")
  }

  @Test("a type's own key fields are added, and none to an embedded type")
  func ownKeys() throws {
    let text = try rewritten("{ user { address { city } } }") {
      $0.keyFields = ["User": [], "Address": ["street", "number"]]
    }
    #expect(text == "{ user { __typename  address { __typename street number  city } } }")
  }

  @Test("a rewritten document stays as it is")
  func idempotence() throws {
    let once = try rewritten("{ user { friend { name } id: address { city } } }")
    #expect(try rewritten(once) == once)
  }
}
