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

  @Test("a text that is no schema says where")
  func noSchema() {
    #expect(throws: (any Error).self) { try RecordSchema("type {") }
  }
}
