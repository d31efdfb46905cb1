import GraphQLSchema
import StrictJSON
import Testing

@Suite("Descriptions of a schema's parts")
struct DescriptionTests {
  @Test func `a part prints its name and type, and not the whole schema`() throws {
    let schema = try Schema(
      parsing: "directive @key(fields: String!) on OBJECT type Query { users(first: Int = 1): [String!]! } enum E { A }"
    )
    let printed = ["Query", "Query.users", "Query.users(first:)", "E.A", "@key", "@key(fields:)"].map {
      (try? schema.element(at: $0))?.description
    }
    #expect(printed == ["Query", "Query.users: [String!]!", "first: Int", "A", "@key", "fields: String!"])
  }

  @Test func `an error prints its path and message, and a result as JSON with its fields in order`() {
    let error = ExecutionError(message: "No.", path: [.key("user"), .index(0), .key("name")])
    #expect(error.description == "user.0.name: No.")
    let data = ResponseValue.object([.init(name: "b", value: .leaf(1)), .init(name: "a", value: .leaf("x"))])
    #expect(ExecutionResult(data: data, errors: []).description == #"{"data":{"b":1,"a":"x"}}"#)
  }
}
