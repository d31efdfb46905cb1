import GraphQLLanguage
import HTTPClientCore
import StrictJSON
import TestSupport
import Testing

@testable import GraphQLClient

@Suite struct IncrementalPlanTests {
  /// The outermost set, and the fragment in it.
  private static let outer = 2
  private static let limit = 100

  @Test(arguments: [["a"], [#"... @defer(label: "l")"#], ["a", #"... @defer(label: "l")"#]])
  func `V3: a plan as deep as there can be is made, compared and followed on a small stack; a deeper one is refused`(
    openings: [String]
  ) async throws {
    func document(_ depth: Int) throws -> DocumentSyntax {
      let inner = (0..<depth - Self.outer).map { "\(openings[$0 % openings.count]) { " }.joined()
      let end = String(repeating: " }", count: depth)
      return try DocumentSyntax(parsing: #"query q { ... @defer(label: "z") { "# + inner + "a" + end)
    }
    let count = openings.contains("a") ? (Self.limit - Self.outer) / openings.count : 0
    let value = String(repeating: #"{"a":"#, count: count + 1) + "1" + String(repeating: "}", count: count + 1)
    let (deepest, deeper) = (try document(Self.limit), try document(Self.limit + 1))
    let isReady = try await onSmallStack {
      guard let plan = IncrementalPlan(of: deepest.operations[0], in: deepest), plan.problem == nil,
        plan == IncrementalPlan(of: deepest.operations[0], in: deepest)
      else { return false }
      var merger = IncrementalMerger(plan, without: SentSecrets())
      try merger.merge(IncrementalPayload(json: #"{"data": \#(value), "hasNext": true}"#))
      return merger.decodableData?["z"]?["ready"] != nil
    }
    #expect(isReady)
    let problem = try await onSmallStack { IncrementalPlan(of: deeper.operations[0], in: deeper)?.problem }
    #expect(problem?.hasPrefix("The operation has more than 100 selection sets within one another") == true)
  }

  private func plan(_ operation: String, _ count: Int, _ selections: (Int) -> String) throws -> IncrementalPlan {
    let fragments = (0..<count).map { "fragment F\($0) on A { \(selections($0 + 1)) }" }.joined(separator: " ")
    let document = try DocumentSyntax(parsing: "\(operation) \(fragments) fragment F\(count) on A { x }")
    return try #require(IncrementalPlan(of: document.operations[0], in: document))
  }

  private static let deferred = #"{ ...F0 ... @defer(label: "z") { ...F0 } }"#

  @Test func `V3: objects of which the same is selected share it in a plan, however often fragments are spread`() throws
  {
    // Unfolded, these would have more than 2^40 fields.
    let flat = try plan(Self.deferred, 90) { "...F\($0) ...F\($0)" }
    #expect(flat.problem == nil)
    #expect(flat.objects.map { $0.fields.keys.sorted() } == [["x"], ["x"]])
    let nested = try plan(Self.deferred, 40) { "a { ...F\($0) } a { ...F\($0) }" }
    #expect(nested.problem == nil)
    #expect(nested.objects.count == 40 + 2)
  }

  @Test func `V3: a plan whose fields multiply without end is refused`() throws {
    let fields = try plan(Self.deferred, 40) { "a { ...F\($0) } b { ...F\($0) }" }
    let labels = try plan(Self.deferred, 90) {
      #"...F\#($0) @defer(label: "a\#($0)") ...F\#($0) @defer(label: "b\#($0)")"#
    }
    for plan in [fields, labels] {
      #expect(
        plan.problem
          == "The operation has more than 20000 fields, fragments included, at 1:1: this is too "
          + "much for '@defer'.")
    }
  }

  @Test func `a fragment that contains itself is named, with the place`() throws {
    let plan = try plan(Self.deferred, 2) { $0 == 2 ? "...F0" : "...F\($0)" }
    #expect(
      plan.problem
        == "The operation has the fragment 'F0', which contains itself, at 1:90: this is too much "
        + "for '@defer'.")
  }

  @Test func `what is there whatever the type and the variables are is required`() throws {
    let document = try DocumentSyntax(
      parsing: """
        query q($x: Boolean!) {
          ... @defer(label: "l") {
            sure maybe @include(if: $x) a { b } a @skip(if: $x) { c } ... { also } ... on A { d } ... @defer { e } ...f
          }
        }
        fragment f on A { g a { h } }
        """)
    let plan = try #require(IncrementalPlan(of: document.operations[0], in: document))
    let object = plan.objects[try #require(plan.objects.last?.fragments["l"])]
    #expect(object.fields.keys.sorted() == ["a", "also", "d", "e", "g", "maybe", "sure"])
    #expect(object.required.sorted() == ["a", "also", "sure"])
    let inner = plan.objects[try #require(object.fields["a"] ?? nil)]
    #expect(inner.fields.keys.sorted() == ["b", "c", "h"])
    #expect(inner.required == ["b"])
  }

  @Test func `V3: data that parts nest as deep as paths and JSON may, is merged on a small stack`() async throws {
    let document = try DocumentSyntax(
      parsing: #"query q { ... @defer(label: "z") { a { ... @defer(label: "y") { b } } } }"#)
    let depth = 120
    let lists = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let path = #"["a""# + String(repeating: ",0", count: depth) + "]"
    let isMerged = try await onSmallStack {
      guard let plan = IncrementalPlan(of: document.operations[0], in: document) else { return false }
      var merger = IncrementalMerger(plan, without: SentSecrets())
      try merger.merge(IncrementalPayload(json: #"{"data": {"a": \#(lists)}, "hasNext": true}"#))
      let part = #"{"incremental": [{"path": \#(path), "items": [\#(lists)]}], "hasNext": true}"#
      try merger.merge(IncrementalPayload(json: part))
      return merger.decodableData?["z"]?["ready"] != nil
    }
    #expect(isMerged)
  }
}
