import Foundation
import GraphQLLanguage
import GraphQLSchema
import JSON
import Testing

/// V3: what documents and schemas of any content cost. Where the time grew with the square, these tests would not end.
@Suite struct LimitsTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: """
        type Query { a: Query! b(x: Int, in: In): Query c: Int list: [Query] }
        input In { in: In list: [In] x: Int }
        """)
  }

  private func errors(_ text: String, depth: Int = 200) throws -> [ValidationError] {
    schema.validate(try DocumentSyntax(parsing: text, limits: SyntaxLimits(depth: depth)))
  }

  private func repeated(_ count: Int, _ text: (Int) -> String) -> String {
    (0..<count).map(text).joined(separator: " ")
  }

  @Test("V3: 20,000 equal fields, with and without arguments and selections, are validated")
  func equalFields() throws {
    #expect(try errors("{ \(repeated(20_000) { _ in "c" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { _ in "b(x: 1) { c }" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { "a\($0 % 10): a { c }" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { "a\($0): c" }) }").isEmpty)
  }

  @Test("V3: among 20,000 equal fields, one that conflicts is found, and errors have a limit")
  func conflicts() throws {
    let found = try errors("{ \(repeated(20_000) { _ in "c" }) c: a { c } }")
    #expect(found.first?.rule == .overlappingFieldsCanBeMerged)
    #expect(try errors("{ \(repeated(20_000) { "nope\($0)" }) }").count == 101)
    #expect(try errors("{ \(repeated(20_000) { "nope\($0)" }) }").last?.rule == nil)
    let document = try DocumentSyntax(parsing: "{ x y z }")
    #expect(schema.validate(document, limit: 2).map(\.rule) == [.fieldsOnCorrectType, .fieldsOnCorrectType, nil])
  }

  @Test("V3: long chains, wide fans and cycles of fragments are validated")
  func fragments() throws {
    let chain = repeated(5_000) { "fragment F\($0) on Query { a { ...F\($0 + 1) } }" }
    #expect(try errors("{ ...F0 } \(chain) fragment F5000 on Query { c }").isEmpty)
    let flat = repeated(5_000) { "fragment F\($0) on Query { ...F\($0 + 1) }" }
    #expect(try errors("{ ...F0 } \(flat) fragment F5000 on Query { c }").isEmpty)
    #expect(try errors("{ ...F0 } \(flat) fragment F5000 on Query { ...F0 }").map(\.rule) == [.noFragmentCycles])
    // Each fragment spreads the next one twice: unfolded, there would be 2^100 fields.
    let doubled = repeated(100) { "fragment F\($0) on Query { a { ...F\($0 + 1) } a { ...F\($0 + 1) } }" }
    #expect(try errors("{ ...F0 } \(doubled) fragment F100 on Query { c }").isEmpty)
    let fan = repeated(2_000) { "fragment F\($0) on Query { a { x\($0): c } }" }
    #expect(try errors("{ \(repeated(2_000) { "...F\($0)" }) } \(fan)").isEmpty)
  }

  @Test("V3: what uses a long chain of fragments is found on a small stack")
  func usesOfFragments() async throws {
    let old = try Schema(parsing: "type Query { a: Query c: Int }")
    let new = try Schema(parsing: "type Query { a: Query c: String }")
    let chain = repeated(100_000) { "fragment F\($0) on Query { ...F\($0 + 1) }" }
    let document = try DocumentSyntax(parsing: "{ ...F0 } \(chain) fragment F100000 on Query { c }")
    let change = try #require(old.changes(to: new).first)
    let count = await onStack(of: 512 << 10) { old.operations(in: document, feeling: change).count }
    #expect(count == 1)
  }

  @Test("V3: operations that share all fragments end with an error that says so")
  func sharedFragments() throws {
    let fragments = repeated(2_000) { "fragment F\($0) on Query { b(x: $x) { c } ...F\($0 + 1) }" }
    let operations = repeated(2_000) { "query Q\($0)($x: Int) { ...F0 }" }
    let found = try errors("\(operations) \(fragments) fragment F2000 on Query { c }")
    #expect(found.map(\.rule) == [nil])
  }

  /// Runs a closure on a thread with a small stack.
  private func onStack<Result: Sendable>(of size: Int, _ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = size
      thread.start()
    }
  }

  @Test("V3: what nests as deep as the parser allows is validated on a small stack, and executed up to a limit")
  func depth() async throws {
    let nested = String(repeating: "a { ", count: 180) + "c" + String(repeating: " }", count: 180)
    let value = String(repeating: "{ in: ", count: 180) + "{ x: 1 }" + String(repeating: " }", count: 180)
    let document = try DocumentSyntax(parsing: "{ \(nested) b(in: \(value)) { c } }")
    let (schema, executor) = (schema, Executor(schema) { $0.field.type.named.kind == .object ? [:] : 1 })
    #expect(await onStack(of: 512 << 10) { schema.validate(document) }.isEmpty)
    // The response would nest deeper than JSON may.
    let result = await onStack(of: 512 << 10) { executor.execute(document) }
    #expect(result.errors.map(\.message) == ["the response is nested too deep"])
    #expect(result.errors.first?.path.count == 100)
  }

  @Test("V3: a schema of any names and sizes is built")
  func schemas() throws {
    let wide = "type Query { \(repeated(20_000) { "f\($0)(\(repeated(3) { "x\($0): Int" })): Int" }) }"
    #expect(try Schema(parsing: wide).problems.isEmpty)
    let enums = "enum E { \(repeated(20_000) { "V\($0)" }) } type Query { e: E }"
    #expect(try Schema(parsing: enums).type(named: "E")?.value(named: "V19999") != nil)
    let same = "type Query { a: Int } \(repeated(2_000) { _ in "type Query { a: Int }" })"
    #expect(try Schema(parsing: same).problems.count == 2_000)
  }
}
