import GraphQLLanguage
import GraphQLSchema
import TestSupport
import Testing

@testable import GraphQLTesting

@Suite struct SelectionPlanTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: """
        type Query { a(in: In, role: Role): Query b: Query c: Int }
        input In { old: Int @deprecated(reason: "use new") roles: [Role!] new: Int }
        enum Role { ADMIN GUEST @deprecated(reason: "none is") }
        """)
  }

  private func plan(_ text: String, operation: String? = nil) throws -> OperationPlan {
    try OperationPlan(operation: operation, in: DocumentSyntax(parsing: text), schema)
  }

  @Test func `V3: a chain of fragments of any length is refused with the limit, or followed up to it`() throws {
    func chain(_ count: Int) -> String {
      "{ ...F0 } " + (0..<count).map { "fragment F\($0) on Query { ...F\($0 + 1) }" }.joined(separator: " ")
        + " fragment F\(count) on Query { c }"
    }
    #expect(try plan(chain(98)).selections.keys == ["c"])
    for count in [99, 100_000] {
      let error = #expect(throws: OperationPlan.Failure.self) { try plan(chain(count)) }
      #expect(
        error?.description
          == "has more than 100 selection sets within one another, fragments included: too many to check")
    }
  }

  @Test func `V3: a fragment that is less deep where it is spread first counts where it is deepest`() throws {
    let nested = String(repeating: "a { ", count: 60) + "c" + String(repeating: " }", count: 60)
    let around = String(repeating: "b { ", count: 50) + "...F" + String(repeating: " }", count: 50)
    #expect(try plan("{ ...F } fragment F on Query { \(nested) }").selections.depth == 62)
    #expect(throws: OperationPlan.Failure.self) { try plan("{ ...F \(around) } fragment F on Query { \(nested) }") }
    #expect(throws: OperationPlan.Failure.self) { try plan("{ \(around) ...F } fragment F on Query { \(nested) }") }
  }

  @Test func `V3: the deepest plan there can be is made and followed on a small stack`() async throws {
    let (schema, count) = (schema, OperationPlan.deepest - 1)
    let text = "{ " + String(repeating: "b { ", count: count) + "c" + String(repeating: " }", count: count) + " }"
    let size = try await onSmallStack {
      try onDeepStack {
        Result {
          let plan = try OperationPlan(operation: nil, in: DocumentSyntax(parsing: text), schema)
          let generator = ResponseGenerator(plan: plan, samples: ScalarSamples(), chooser: FirstChoice())
          return generator.response(at: Place(path: "data")).json().utf8.count
        }
      }.get()
    }
    #expect(size > 5 * count)
  }

  @Test func `an operation is found by its name; a name that there is not is said`() throws {
    #expect(try plan("query a { c } query b { b { c } }").selections.keys == ["c"])
    #expect(try plan("query a { c } query b { b { c } }", operation: "b").selections.keys == ["b"])
    let error = #expect(throws: OperationPlan.Failure.self) { try plan("query a { c }", operation: "z") }
    #expect(error?.description == "has no operation named \"z\"")
    let other = #expect(throws: OperationPlan.Failure.self) { try plan("mutation m { c }") }
    #expect(other?.description == "is a mutation, and the schema has none")
  }

  @Test func `what is deprecated among input fields and enum values in a document's arguments is recorded`() throws {
    let text = "{ a(in: { old: 1, roles: [ADMIN, GUEST] }, role: GUEST) { c } }"
    #expect(
      try plan(text).deprecations.map(\.message) == [
        "In.old is deprecated: use new", "Role.GUEST is deprecated: none is", "Role.GUEST is deprecated: none is",
      ])
  }
}

/// Always the usual one.
private final class FirstChoice: Chooser {
  func choose(_ choice: Choice, at place: Place, isLater: Bool) -> Int { 0 }
  func length(at place: Place) -> Int { 1 }
  func flag(_ variable: String, usually: Bool) -> Bool { usually }
}
