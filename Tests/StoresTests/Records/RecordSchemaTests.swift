import Testing

@testable import Stores

struct RecordSchemaTests {
  @Test("a schema's text says the types of fields, of interfaces and unions, and the roots")
  func text() throws {
    let schema = try RecordSchema(
      """
      schema { query: Root }
      type Root { things: [Thing!]! }
      interface Node { id: ID! }
      interface Empty { id: ID! }
      type A implements Node { id: ID! next: Thing }
      type B { text: String }
      extend type B implements Node { id: ID! }
      union Thing = A | B
      """)
    #expect(schema.roots.query == "Root")
    #expect(schema.roots.mutation == "Mutation")
    #expect(schema.possibleTypes == ["Node": ["A", "B"], "Empty": [], "Thing": ["A", "B"]])
    #expect(schema.fieldTypes["Root"] == ["things": "Thing"])
    #expect(schema.fieldTypes["B"] == ["text": "String", "id": "ID"])
    #expect(schema.matches("A", condition: "Node") == true)
    #expect(schema.matches("A", condition: "B") == false)
    #expect(schema.matches("A", condition: "Other") == nil)
  }

  @Test("a type's policy says its key and its connections, and that of an interface those of its types")
  func typePolicy() throws {
    let schema = try RecordSchema(
      """
      interface Book { isbn: ID! }
      type Novel implements Book { isbn: ID! }
      type Atlas implements Book { isbn: ID! scale: Int }
      type Country { code: ID! }
      extend interface Book @typePolicy(keyFields: "isbn", connectionFields: "readers")
      extend type Atlas @typePolicy(keyFields: "isbn scale")
      extend type Country @typePolicy(keyFields: "code", connectionFields: "cities rivers")
      """)
    #expect(
      schema.keyFields == ["Book": ["isbn"], "Novel": ["isbn"], "Atlas": ["isbn", "scale"], "Country": ["code"]])
    #expect(
      schema.paging.keys.sorted()
        == ["Atlas.readers", "Book.readers", "Country.cities", "Country.rivers", "Novel.readers"])
  }

  @Test("a union's policy is that of its types, and nothing is selected on the union itself")
  func unionPolicy() throws {
    let schema = try RecordSchema(
      """
      type Query { search: [Found!]! }
      type Book { isbn: ID! }
      type Atlas { isbn: ID! scale: Int }
      union Found @typePolicy(keyFields: "isbn") = Book | Atlas
      """)
    #expect(schema.keyFields == ["Book": ["isbn"], "Atlas": ["isbn"]])
    let text = try schema.addingKeys(to: "{ search { ... on Book { isbn } ... on Atlas { scale } } }")
    #expect(
      text.split(separator: " ").joined(separator: " ")
        == "{ search { __typename ... on Book { isbn } ... on Atlas { isbn scale } } }")
  }

  @Test("of two policies that a type could have, that of the first interface by name counts")
  func twoPolicies() throws {
    let schema = try RecordSchema(
      """
      interface B @typePolicy(keyFields: "b") { b: ID! }
      interface A @typePolicy(keyFields: "a") { a: ID! }
      type Both implements B & A { a: ID! b: ID! }
      """)
    #expect(schema.keyFields["Both"] == ["a"])
  }

  @Test("a text that is no schema says where")
  func noSchema() {
    #expect(throws: (any Error).self) { try RecordSchema("type {") }
  }
}
