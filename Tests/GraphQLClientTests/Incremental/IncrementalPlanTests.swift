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

  @Test(
    "V3: a plan as deep as there can be is made, compared and followed on a small stack; a deeper one is refused",
    arguments: [["a"], [#"... @defer(label: "l")"#], ["a", #"... @defer(label: "l")"#]])
  func depth(openings: [String]) async throws {
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

  @Test("V3: data that parts nest as deep as paths and JSON may, is merged on a small stack")
  func parts() async throws {
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
