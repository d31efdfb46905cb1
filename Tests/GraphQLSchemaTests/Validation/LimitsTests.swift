import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import TestSupport
import Testing

private func repeated(_ count: Int, _ text: (Int) -> String) -> String {
  (0..<count).map(text).joined(separator: " ")
}

private let deepTypes = repeated(100) { "t\($0): types { fields { name type { name ofType { name } } } }" }

/// V3: what documents and schemas of any content cost. Where the time grew with the square, these tests would not end.
@Suite struct LimitsTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: """
        type Query { a: Query! b(x: Int, in: In): Query c: Int list: [Query] }
        input In { in: In list: [In] x: Int }
        type Subscription { s: Int }
        """)
  }

  private func errors(_ text: String, depth: Int = 200) throws -> [ValidationError] {
    schema.validate(try DocumentSyntax(parsing: text, limits: SyntaxLimits(depth: depth)))
  }

  @Test func `V3: 20,000 equal fields, with and without arguments and selections, are validated`() throws {
    #expect(try errors("{ \(repeated(20_000) { _ in "c" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { _ in "b(x: 1) { c }" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { "a\($0 % 10): a { c }" }) }").isEmpty)
    #expect(try errors("{ \(repeated(20_000) { "a\($0): c" }) }").isEmpty)
  }

  @Test func `V3: among 20,000 equal fields, one that conflicts is found, and errors have a limit`() throws {
    let found = try errors("{ \(repeated(20_000) { _ in "c" }) c: a { c } }")
    #expect(found.first?.rule == .overlappingFieldsCanBeMerged)
    #expect(try errors("{ \(repeated(20_000) { "nope\($0)" }) }").count == 101)
    #expect(try errors("{ \(repeated(20_000) { "nope\($0)" }) }").last?.rule == nil)
    let document = try DocumentSyntax(parsing: "{ x y z }")
    #expect(schema.validate(document, limit: 2).map(\.rule) == [.fieldsOnCorrectType, .fieldsOnCorrectType, nil])
  }

  @Test func `V3: long chains, wide fans and cycles of fragments are validated`() throws {
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

  @Test func `V3: what uses a long chain of fragments is found on a small stack`() async throws {
    let old = try Schema(parsing: "type Query { a: Query c: Int }")
    let new = try Schema(parsing: "type Query { a: Query c: String }")
    let chain = repeated(100_000) { "fragment F\($0) on Query { ...F\($0 + 1) }" }
    let document = try DocumentSyntax(parsing: "{ ...F0 } \(chain) fragment F100000 on Query { c }")
    let change = try #require(old.changes(to: new).first)
    let count = try await onSmallStack { old.operations(in: document, affectedBy: change).count }
    #expect(count == 1)
  }

  @Test func `V3: operations that share all fragments end with an error that says so`() throws {
    let fragments = repeated(2_000) { "fragment F\($0) on Query { b(x: $x) { c } ...F\($0 + 1) }" }
    let operations = repeated(2_000) { "query Q\($0)($x: Int) { ...F0 }" }
    let found = try errors("\(operations) \(fragments) fragment F2000 on Query { c }")
    #expect(found.map(\.rule) == [nil])
  }

  @Test func `V3: what nests as deep as the parser allows is validated on a small stack, and executed up to a limit`()
    async throws
  {
    let nested = String(repeating: "a { ", count: 180) + "c" + String(repeating: " }", count: 180)
    let value = String(repeating: "{ in: ", count: 180) + "{ x: 1 }" + String(repeating: " }", count: 180)
    let document = try DocumentSyntax(parsing: "{ \(nested) b(in: \(value)) { c } }")
    let (schema, executor) = (schema, Executor(schema) { $0.field.type.named.kind == .object ? [:] : 1 })
    #expect(try await onSmallStack { schema.validate(document) }.isEmpty)
    // The response would nest deeper than JSON may, and so would the argument.
    let result = try await onSmallStack { executor.execute(document) }
    #expect(result.data == nil || result.data?.json == .null)
    #expect(result.errors.map(\.message).contains("the response is nested too deep"))
    #expect(result.errors.first?.path.count == 100)
  }

  @Test func `V3: arguments and conflicts in selections are compared on a small stack, however deep they nest`()
    async throws
  {
    let schema = schema
    func nested(_ inner: String) -> String {
      String(repeating: "a { ", count: 180) + inner + String(repeating: " }", count: 180)
    }
    let value = String(repeating: "{ list: [", count: 90) + "{ x: 1 }" + String(repeating: "] }", count: 90)
    let equal = try DocumentSyntax(parsing: "{ b(in: \(value)) { c } b(in:  \(value)) { c } }")
    #expect(try await onSmallStack { schema.validate(equal) }.isEmpty)
    let conflict = try DocumentSyntax(parsing: "{ \(nested("x: c")) \(nested("x: b { c }")) }")
    #expect(try await onSmallStack { schema.validate(conflict).map(\.rule) } == [.overlappingFieldsCanBeMerged])
    let changed = try Schema(parsing: "type Query { a: Query! b(x: Int, in: In): Query c: Int } input In { x: Int }")
    let changes = schema.changes(to: changed)
    let deep = try DocumentSyntax(
      parsing: "{ \(nested("b(in: \(value)) { c }")) }", limits: SyntaxLimits(depth: 400))
    #expect(
      try await onSmallStack {
        changes.filter { !schema.operations(in: deep, affectedBy: $0).isEmpty }.map(\.coordinate)
      }
        == ["In.list"])
  }

  @Test func `V3: defaults that bring defaults with them are filled in on a small stack, up to a depth and a number`()
    async throws
  {
    func schema(_ fields: String, _ count: Int) throws -> Schema {
      let chain = repeated(count) { number in
        "input I\(number) { \(fields.replacing("NEXT", with: "I\(number + 1)")) }"
      }
      return try Schema(parsing: "\(chain) input I\(count) { x: Int = 1 } type Query { f(in: I0 = {}): Int }")
    }
    let document = try DocumentSyntax(parsing: "{ f }")
    for (fields, count, message) in [
      ("a: NEXT = {}", 100, nil), ("a: NEXT = {}", 5_000, "is nested deeper than 128 levels"),
      ("a: [[NEXT]] = {}", 100, "is nested deeper than 128 levels"),
      ("a: NEXT = {} b: NEXT = {}", 60, "brings more than 10000 values by defaults"),
    ] as [(String, Int, String?)] {
      let executor = Executor(try schema(fields, count)) { _ in 1 }
      let result = try await onSmallStack { executor.execute(document) }
      #expect(result.data?.json["f"] == (message == nil ? 1 : .null))
      #expect(result.errors.count == (message == nil ? 0 : 1))
      #expect(result.errors.first.map { $0.message.hasSuffix(message ?? "none") } ?? true, "\(result.errors)")
    }
  }

  @Test func `V3: an introspection whose types nest as deep as JSON may is read on a small stack`() async throws {
    let type =
      repeated(60) { _ in #"{"kind": "NON_NULL", "ofType": {"kind": "LIST", "ofType":"# }
      + #"{"kind": "SCALAR", "name": "Int"}"# + String(repeating: "}}", count: 60)
    let text = """
      {"data": {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "fields": [{"name": "a", "type": {"kind": "SCALAR", "name": "Int"}},
          {"name": "b", "type": \(type)}]}]}}}
      """
    let problems = try await onSmallStack { try Schema(reading: Array(text.utf8)).problems.map(\.rule) }
    #expect(problems == ["KnownTypeNames"])
  }

  @Test func `V3: a schema of any names and sizes is built`() throws {
    let wide = "type Query { \(repeated(20_000) { "f\($0)(\(repeated(3) { "x\($0): Int" })): Int" }) }"
    #expect(try Schema(parsing: wide).problems.isEmpty)
    let enums = "enum E { \(repeated(20_000) { "V\($0)" }) } type Query { e: E }"
    #expect(try Schema(parsing: enums).type(named: "E")?.value(named: "V19999") != nil)
    let same = "type Query { a: Int } \(repeated(2_000) { _ in "type Query { a: Int }" })"
    #expect(try Schema(parsing: same).problems.count == 101)
  }

  @Test(arguments: [
    repeated(4_000) { "type T\($0) { a: Unknown\($0) }" },
    repeated(4_000) { "extend type Unknown\($0) { a: Int }" },
    "interface I { \(repeated(2_000) { "f\($0): Int" }) } "
      + repeated(2_000) { "type T\($0) implements I { a: Int }" },
    "input I { x: Int } type T { \(repeated(4_000) { "f\($0)(i: I = { unknown\($0): 1 }): Int" }) }",
    "type T { \(repeated(4_000) { "f\($0): Int @deprecated(unknown: 1)" }) }",
  ])
  func `V3: problems of schemas have a limit, and no message is made for those beyond it`(sdl: String) throws {
    let problems = try Schema(parsing: sdl + " type Query { a: Int }").problems
    #expect(problems.count == 101)
    #expect(problems.last?.description == "error: there are more than 100 errors; the others are not listed [Limit]")
  }

  @Test func `V3: warnings have a limit of their own, so that they do not hide errors`() throws {
    let fields = repeated(4_000) { "f\($0): Int @unknown\($0)" }
    let problems = try Schema(parsing: "type Query { \(fields) a: Unknown }").problems
    #expect(problems.count { $0.severity == .error } == 1)
    #expect(problems.count { $0.severity == .warning } == 1_001)
    #expect(problems.last?.message == "there are more than 1000 warnings; the others are not listed")
  }

  @Test func `V3: a deep hierarchy of interfaces is checked`() throws {
    func names(_ count: Int) -> String { (0..<count).map { "I\($0)" }.joined(separator: " & ") }
    let interfaces = repeated(250) { number in
      "interface I\(number) \(number > 0 ? "implements \(names(number))" : "") { \(repeated(20) { "f\($0): Int" }) }"
    }
    #expect(try Schema(parsing: interfaces + " type Query { a: I249 }").problems.isEmpty)
  }

  @Test(arguments: [
    ("query(\(repeated(4_000) { "$v\($0): Int" })) { \(repeated(4_000) { "a\($0): b(x: $w\($0)) { c }" }) }", 101),
    ("query(\(repeated(20_000) { "$v\($0): Int" })) { c }", 101),
    ("{ ...F0 } \(repeated(4_000) { "fragment F\($0) on Query { ...F\(($0 + 1) % 4_000) ...F0 }" })", 101),
    ("query { \(repeated(4_000) { "a\($0): b(in: { unknown\($0): 1 }) { c }" }) }", 101),
    ("query { \(repeated(4_000) { "a\($0): c @unknown\($0)" }) }", 101),
    ("query { \(repeated(4_000) { "...U\($0)" }) } \(repeated(2_000) { "fragment F\($0) on Query { c }" })", 101),
    ("query { \(repeated(4_000) { "a\($0): __schema { ...F }" }) } fragment F on __Schema { \(deepTypes) }", 0),
    (
      "query { x: c x: b { c } \(repeated(4_000) { "...F\($0)" }) } \(repeated(4_000) { "fragment F\($0) on Query { c }" })",
      1
    ),
    ("query { c \(repeated(2_000) { "@skip(if: true) @unknown\($0) @unknown\($0)" }) }", 101),
    ("subscription { \(repeated(4_000) { "s\($0): s" }) }", 1),
  ])
  func `V3: in a document, no message is made for an error that is not reported`(text: String, count: Int) throws {
    #expect(try errors(text).count == count)
  }

  @Test func `V3: what operations use is found once, however many changes may affect them`() throws {
    let old = try Schema(parsing: "type Query { \(repeated(3_000) { "f\($0): Int" }) }")
    let new = try Schema(parsing: "type Query { \(repeated(3_000) { "f\($0): String" }) }")
    let fields = repeated(500) { "f\($0)" }
    let document = try DocumentSyntax(parsing: repeated(100) { "query Q\($0) { f\($0) ...F }" })
    let fragments = try DocumentSyntax(parsing: "fragment F on Query { \(fields) }")
    let changes = old.changes(to: new)
    let operations = old.operations(among: [document, fragments], affectedBy: changes)
    #expect(changes.count == 3_000)
    #expect(operations.count { $0.count == 100 } == 500)
    #expect(operations.allSatisfy { $0.allSatisfy { $0.document == 0 } })
  }

  @Test func `a fragment that is too deep for one operation is still looked at for another`() throws {
    let schema = try Schema(
      parsing: """
        directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
        type Query { a: Int }
        type Subscription { s: S! }
        type S { s: S! x: Int }
        """)
    let chain =
      repeated(100) { "fragment F\($0) on S { s { ...F\($0 + 1) } }" } + " fragment F100 on S { ... @defer { x } }"
    let (deep, direct) = ("subscription A { s { ...F0 } }", "subscription B { s { ...F100 } }")
    let rules: Set<ValidationRule> = [.deferStreamDirectiveOnValidOperations]
    let apart = schema.validate(try DocumentSyntax(parsing: "\(direct) \(chain)"), rules: rules)
    let together = schema.validate(try DocumentSyntax(parsing: "\(deep) \(direct) \(chain)"), rules: rules)
    #expect(apart.count == 1)
    #expect(together.map(\.message) == apart.map(\.message))
  }
}
