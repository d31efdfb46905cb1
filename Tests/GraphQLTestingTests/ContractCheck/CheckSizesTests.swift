import GraphQLClient
import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import Testing

@testable import GraphQLTesting

/// V3: the work of a check grows about as the response: it is counted, and not measured.
@Suite struct CheckSizesTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(
      parsing: "type Query { me: Person! } type Person { name: String age: Int! me: Person! best: Person }")
  }

  private func repeated(_ count: Int, _ text: (Int) -> String) -> String {
    (0..<count).map(text).joined(separator: " ")
  }

  private func check<Data: Decodable & Sendable>(
    _ text: String, as type: Data.Type
  ) throws -> (check: ResponseCheck<Data>, report: SessionCheck.Report) {
    let plan = try OperationPlan(operation: nil, in: DocumentSyntax(parsing: text), schema)
    var check = ResponseCheck<Data>(
      plan: plan, samples: ScalarSamples(), decoder: JSONCoder(), encoder: JSONCoder(),
      parser: .graphQL(.none, of: "q", in: "query q { me { name } }"))
    var report = SessionCheck.Report()
    onDeepStack { check.check(&report) }
    return (check, report)
  }

  private func expectLinear(_ count: Int, _ text: (Int) -> String) throws {
    let (small, large) = (
      try check(text(count), as: [String: JSONValue].self), try check(text(2 * count), as: [String: JSONValue].self)
    )
    #expect(small.report.findings == [])
    #expect(large.report.findings == [])
    #expect(large.report.responses >= small.report.responses * 3 / 2)
    #expect(large.check.work <= small.check.work * 9 / 4)
  }

  @Test func `V3: an object with twice as many fields is checked with twice the work`() throws {
    try expectLinear(200) { count in "query q { me { \(repeated(count) { "a\($0): name" }) } }" }
    try expectLinear(150) { count in "query q { me { \(repeated(count) { "a\($0): best { age }" }) } }" }
  }

  @Test func `V3: fragments that spread others twice are checked with work in proportion to the response`() throws {
    func doubled(_ count: Int) -> String {
      "query q { me { ...F0 } } "
        + repeated(count) { "fragment F\($0) on Person { a: me { ...F\($0 + 1) } b: me { ...F\($0 + 1) } }" }
        + " fragment F\(count) on Person { name }"
    }
    let (small, large) = (
      try check(doubled(7), as: [String: JSONValue].self), try check(doubled(8), as: [String: JSONValue].self)
    )
    #expect(large.report.responses == 2 * small.report.responses - 1)
    #expect(large.check.work <= small.check.work * 9 / 4)
  }

  private struct Person: Decodable, Sendable {
    let me: [String: Field]

    enum Field: Decodable, Sendable {
      case text(String?)

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = decoder.codingPath.last?.stringValue
        // Two of the fields cannot be null, and one cannot be empty.
        let isRequired = name == "a301" || name == "a702"
        let text = isRequired ? try container.decode(String.self) : try? container.decode(String.self)
        if name == "a555", text == "" {
          throw DecodingError.dataCorruptedError(in: container, debugDescription: "it is empty")
        }
        self = .text(text)
      }
    }
  }

  @Test func `of many values that are tried together, those are found that cannot be read`() throws {
    let (check, report) = try check("query q { me { \(repeated(800) { "a\($0): name" }) } }", as: Person.self)
    #expect(report.findings.map(\.path).sorted() == ["data.me.a301", "data.me.a555", "data.me.a702"])
    #expect(
      Set(report.findings.map(\.condition)) == [
        "data.me.a301 is null", "data.me.a555 is empty", "data.me.a702 is null",
      ])
    #expect(report.unexplored.count == 1)
    #expect(check.work < 3_000_000)
  }

  private struct Texts: Decodable, Sendable {
    let me: [String: String]
  }

  @Test func `a check that ends because of its findings says so, also where many values are tried together`() throws {
    let (_, report) = try check("query q { me { \(repeated(1_200) { "a\($0): name" }) } }", as: Texts.self)
    #expect(report.findings.count > 100)
    #expect(report.findings.count < 1_200)
    #expect(report.unexplored.contains { $0.contains("more than 100 findings") })
  }
}
