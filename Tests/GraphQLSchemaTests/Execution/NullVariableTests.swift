import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import Testing

/// Section 6.4.1: a variable that is null or has no value, where its type may not be.
@Suite struct NullVariableTests {
  private let executor: Executor

  init() throws {
    let schema = try Schema(
      parsing: """
        type Query { f(i: Int! = 7, list: [Int!], in: In, id: ID): Int g: Int }
        input In { x: Int! = 1 y: Int }
        """)
    executor = Executor(schema) { request in
      if case .string(let id)? = request.arguments["id"] { throw FieldError(id) }
      return request.arguments["i"] ?? 0
    }
  }

  private func messages(_ text: String, _ variables: [String: JSONValue] = [:]) throws -> [String] {
    let result = executor.execute(try DocumentSyntax(parsing: text), variables: variables)
    #expect(result.errors.allSatisfy { $0.path == [.key("f")] })
    return result.errors.map(\.message)
  }

  @Test func `a null variable for an argument, an input field or an item that cannot be null is an error of the field`()
    throws
  {
    let null: [String: JSONValue] = ["v": .null]
    #expect(
      try messages("query($v: Int = 4) { f(i: $v) }", null) == [
        "the argument \"i\" cannot be null, as its type is Int!"
      ])
    #expect(try messages("query($v: Int = 4) { f(i: $v) }") == [])
    #expect(
      try messages("query($v: Int = 4) { f(in: { x: $v }) }", null) == [
        "the argument \"in.x\" cannot be null, as its type is Int!"
      ])
    #expect(
      try messages("query($v: Int = 4) { f(list: [1, $v]) }", null) == [
        "the argument \"list[1]\" cannot be null, as its type is Int!"
      ])
    #expect(try messages("query($v: Int) { f(in: { y: $v }) }", null) == [])
  }

  @Test func `a null variable for the condition of a directive is an error, and not a field that is there`() throws {
    let document = try DocumentSyntax(parsing: "query($v: Boolean = true) { g @include(if: $v) }")
    let result = executor.execute(document, variables: ["v": .null])
    #expect(result.data?.json == .null)
    #expect(result.errors.map(\.message) == ["the argument \"if\" of \"@include\" must be true or false"])
    #expect(executor.execute(document).errors == [])
  }

  @Test(arguments: ["12345678901234567890123", "-0", "007x"])
  func `the digits of an ID are its text, however many there are`(id: String) throws {
    let literal = id.allSatisfy { $0.isNumber || $0 == "-" } ? id : "\"\(id)\""
    #expect(try messages("{ f(id: \(literal)) }") == [id])
  }
}
