import GraphQLLanguage
import Testing

@testable import GraphQLSchema

private func repeated(_ count: Int, _ text: (Int) -> String) -> String {
  (0..<count).map(text).joined(separator: " ")
}

/// V3: the work for what is twice as large is about twice as much: it is counted, and not measured.
@Suite struct StepsTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: "type Query { a: Query! b(x: Int, in: In): Query c: Int list: [Query] } input In { in: In x: Int }")
  }

  private func expectLinear(_ steps: (Int) throws -> Int) rethrows {
    let (small, large) = (try steps(300), try steps(600))
    #expect(small >= 300)
    #expect(large <= small * 9 / 4)
  }

  private static let documents: [@Sendable (Int) -> String] = [
    { "{ \(repeated($0) { _ in "b(x: 1) { c }" }) }" },
    { "{ \(repeated($0) { "a\($0): a { c }" }) }" },
    { count in "{ ...F0 } \(repeated(count) { "fragment F\($0) on Query { a { ...F\($0 + 1) } }" }) \(last(count))" },
    { count in
      "{ ...F0 } " + repeated(count) { "fragment F\($0) on Query { ...F\($0 + 1) ...F\($0 + 1) }" } + last(count)
    },
    { count in
      "{ ...F0 } "
        + repeated(count) { "fragment F\($0) on Query { a { ...F\($0 + 1) } a { ...F\($0 + 1) } }" } + last(count)
    },
    { count in "{ ...F0 } \(repeated(count) { "fragment F\($0) on Query { ...F\(($0 + 1) % count) ...F0 }" })" },
    { count in
      "{ \(repeated(count) { "...F\($0)" }) } \(repeated(count) { "fragment F\($0) on Query { a { x\($0): c } }" })"
    },
    { count in
      repeated(count) { "query Q\($0)($x: Int) { ...F0 }" }
        + repeated(20) { " fragment F\($0) on Query { b(x: $x) { ...F\($0 + 1) } }" } + last(20)
    },
    { "query(\(repeated($0) { "$v\($0): Int" })) { \(repeated($0) { "a\($0): b(x: $v\($0)) { c }" }) }" },
    { count in
      "{ \(repeated(count) { "s\($0): __schema { ...F }" }) } "
        + "fragment F on __Schema { \(repeated(count) { "t\($0): types { name }" }) }"
    },
    { count in
      "{ x: c x: a { c } \(repeated(count) { "...F\($0)" }) } \(repeated(count) { "fragment F\($0) on Query { c }" })"
    },
  ]

  private static func last(_ number: Int) -> String { " fragment F\(number) on Query { c }" }

  @Test(arguments: documents.indices)
  func `V3: a document that is twice as large is validated in twice as many steps`(number: Int) throws {
    try expectLinear { count in
      let document = try DocumentSyntax(parsing: Self.documents[number](count))
      let context = ValidationContext(schema, document, rules: nil, limit: 100)
      context.validate()
      return context.steps
    }
  }

  @Test func `V3: what fragments and types of input bring is found once, however many operations use them`() throws {
    try expectLinear { count in
      let inputs = repeated(count) { "input I\($0) { next: I\($0 + 1) }" } + " input I\(count) { x: Int }"
      let fields = repeated(count) { "f\($0): Int" }
      let schema = try Schema(parsing: "type Query { f(i: I0): Int \(fields) } \(inputs)")
      let document = try DocumentSyntax(
        parsing: repeated(count) { "query Q\($0)($i: I0) { f(i: $i) ...F }" }
          + " fragment F on Query { \(repeated(count) { "f\($0)" }) }")
      var uses = OperationUses(schema, [document], wanted: ["Query.f7", "I\(count).x", "Query.none"])
      for operation in document.operations {
        #expect(uses.coordinates(of: operation, in: 0) == ["Query.f7", "I\(count).x"])
      }
      return uses.steps
    }
  }

  @Test func `V3: schemas that are twice as large are compared in twice as many steps`() throws {
    try expectLinear { count in
      let types = repeated(count) { "type T\($0) { a: Int }" }
      let fields = repeated(count) { "f\($0): Int" }
      let old = try Schema(parsing: "\(types) type Query { \(fields) }")
      let new = try Schema(parsing: "\(repeated(count) { "type U\($0) { a: Int }" }) type Query { g: Int \(fields) }")
      var comparison = SchemaComparison(old: old, new: new)
      comparison.run()
      #expect(comparison.changes.count == 2 * count + 1)
      return comparison.steps
    }
  }
}
