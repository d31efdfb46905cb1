import Foundation
import GraphQLGeneration
import Testing

/// Input objects that hold one another.
@Suite struct InputTests {
  @Test func `what can hold its own object is indirect, and what only leads there is not`() throws {
    let schema = """
      type Query { a(a: A): Int }
      input A { b: B lists: [A] }
      input B { c: C }
      input C { b: B! = {} lists: [B!] d: D }
      input D { e: Int }
      """
    let shared = try Sample.shared("query Q($a: A) { a(a: $a) }", schema: schema)
    #expect(shared.components(separatedBy: ": Indirect<").count == 3)
    #expect(shared.contains("private var _c: Indirect<GraphQLNullable<C>>\n"))
    #expect(shared.contains("private var _b: Indirect<B?>\n"))
  }

  @Test(.timeLimit(.minutes(1)))
  func `V3: input objects that all lead to each other are generated in time that grows with them`() throws {
    let count = 2000
    let inputs = (0..<count).map { number in
      let fields = (1...6).map { "r\($0): I\((number * $0 + $0) % count)" }
      return "input I\(number) { not: I\(number) next: I\((number + 1) % count) \(fields.joined(separator: " ")) }"
    }
    let schema = "type Query { a(a: I0): Int }\n" + inputs.joined(separator: "\n")
    let shared = try Sample.shared("query Q($a: I0) { a(a: $a) }", schema: schema)
    #expect(shared.components(separatedBy: "private var _next: Indirect<").count == count + 1)
  }
}
