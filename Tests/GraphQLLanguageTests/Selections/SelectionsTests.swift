import GraphQLLanguage
import TestSupport
import Testing

@Suite struct SelectionsTests {
  private func selections(_ text: String) throws -> Selections {
    let document = try DocumentSyntax(parsing: text)
    return Selections(of: document.operations[0], FragmentTable(document))
  }

  private func repeated(_ count: Int, _ text: (Int) -> String) -> String {
    (0..<count).map(text).joined(separator: " ")
  }

  // MARK: - What each selection is

  @Test func `a field has its names, its arguments, its conditions and what it selects`() throws {
    let selections = try selections(
      "query($x: Boolean!) { plain alias: name(a: 1) @include(if: $x) @skip(if: false) object { a } }")
    let fields = selections[0].compactMap(\.field)
    #expect(fields.map(\.key) == ["plain", "alias", "object"])
    #expect(fields.map(\.name) == ["plain", "name", "object"])
    #expect(fields.map(\.number) == [0, 1, 2])
    #expect(fields[1].syntax.arguments.map(\.text) == ["a: 1"])
    #expect(fields[1].conditions.map(\.directive) == [.skip, .include])
    #expect(fields[1].conditions.map(\.value.text) == ["false", "$x"])
    #expect(fields[1].conditions.map(\.wanted) == [false, true])
    #expect(fields.map { $0.set != nil } == [false, false, true])
    let inner = try #require(fields[2].set)
    #expect(selections[inner].compactMap(\.field?.key) == ["a"])
  }

  @Test(arguments: [
    ("@skip(if: true)", true), ("@skip(if: false)", false), ("@include(if: false)", true),
    ("@include(if: true)", false),
    ("@include(if: $x)", false), ("@skip", false), ("", false),
  ])
  func `a constant may exclude a selection`(directive: String, isNever: Bool) throws {
    let selections = try selections("query($x: Boolean!) { a \(directive) }")
    #expect(selections.all[0].conditions.contains(where: \.isNever) == isNever)
  }

  @Test func `a fragment has the type that it is on, its name if it is spread, and its conditions`() throws {
    let selections = try selections(
      "{ ... on User { a } ... @skip(if: true) { b } ...f @include(if: true) ...none } fragment f on Post { c }")
    let fragments = selections[0].compactMap(\.fragment)
    #expect(fragments.map(\.type) == ["User", nil, "Post"])
    #expect(fragments.map(\.name) == [nil, nil, "f"])
    #expect(fragments.map { $0.conditions.map(\.directive) } == [[], [.skip], [.include]])
    #expect(fragments.map { selections[$0.set].compactMap(\.field?.key) } == [["a"], ["b"], ["c"]])
  }

  @Test func `labels are those of defer on fragments and of stream on fields`() throws {
    let selections = try selections(
      """
      query($x: Boolean!) {
        ... @defer(label: "one") { a } ...f @defer(label: "two", if: false) ... @defer(if: $x) { a } ... { a }
        list @stream(label: "three", initialCount: 1) other
      }
      fragment f on Query { c }
      """)
    let deliveries = selections[0].map(\.delivery)
    #expect(deliveries.map { $0?.label } == ["one", "two", nil, nil, "three", nil])
    #expect(deliveries.map { $0?.isOff } == [false, true, false, nil, false, nil])
  }

  @Test func `of two fragments of one name the last is selected`() throws {
    let selections = try selections("{ ...f } fragment f on A { first } fragment f on A { last }")
    #expect(selections.collect([0]) { _ in true }.map(\.key) == ["last"])
  }

  // MARK: - What is selected on one object

  @Test func `fields of one name are merged, and stand in the order in which they are first met`() throws {
    let selections = try selections(
      """
      { a { x } ...f b ... on Query { c a { y } } ...f d }
      fragment f on Query { e a { z } b }
      """)
    let groups = selections.collect([0]) { _ in true }
    #expect(groups.map(\.key) == ["a", "e", "b", "c", "d"])
    #expect(groups.map(\.fields.count) == [3, 1, 2, 1, 1])
    #expect(selections.collect(groups[0].sets) { _ in true }.map(\.key) == ["x", "z", "y"])
    #expect(groups[1].sets == [])
  }

  @Test func `what is not selected is left out with all that is in it, and a fragment is entered at another spread`()
    throws
  {
    let selections = try selections(
      """
      { ... on A { a } ... on B { b ... on A { c } } ...f @skip(if: true) d @include(if: false) ...f e }
      fragment f on A { g }
      """)
    let groups = selections.collect([0]) { selection in
      selection.fragment?.type != "B" && !selection.conditions.contains(where: \.isNever)
    }
    #expect(groups.map(\.key) == ["a", "g", "e"])
  }

  @Test func `an error of what decides ends the collection`() throws {
    struct Refusal: Error {}
    let selections = try selections("{ a b }")
    #expect(throws: Refusal.self) { try selections.collect([0]) { _ throws(Refusal) in throw Refusal() } }
  }

  // MARK: - Limits

  @Test(arguments: [90, 300])
  func `V3: fragments that spread the next one twice are resolved once, and entered once`(count: Int) throws {
    let flat = repeated(count) { "fragment F\($0) on A { ...F\($0 + 1) ...F\($0 + 1) }" }
    let selections = try selections("{ ...F0 } \(flat) fragment F\(count) on A { a }")
    #expect(selections.count == count + 2)
    #expect(selections.all.count == 2 * count + 2)
    var steps = 0
    let groups = selections.collect([0]) { _ in
      steps += 1
      return true
    }
    #expect(groups.map(\.key) == ["a"])
    #expect(steps == 2 * count + 2)
  }

  @Test func `V3: fields that spread the next fragment twice are resolved once`() throws {
    let count = 90
    let fields = repeated(count) { "fragment F\($0) on A { a { ...F\($0 + 1) } b { ...F\($0 + 1) } }" }
    let selections = try selections("{ ...F0 } \(fields) fragment F\(count) on A { c }")
    #expect(selections.count == 3 * count + 2)
    #expect(try selections.depths(upTo: 2 * count + 2)[0] == 2 * count + 2)
  }

  @Test func `sets within one another are counted, those of fragments included`() throws {
    let selections = try selections(
      "{ a { b } ...f ... { ...f } } fragment f on A { c { d { e } } }")
    // The operation, `a`, the fragment, the inline fragment, `c` and `d`.
    #expect(try selections.depths(upTo: 5) == [5, 1, 3, 4, 2, 1])
  }

  @Test(arguments: [300, 100_000])
  func `V3: a chain of fragments is refused where it is too deep, on a small stack`(count: Int) async throws {
    let text =
      "{ ...F0 }\n" + (0..<count).map { "fragment F\($0) on A { ...F\($0 + 1) }\n" }.joined()
      + "fragment F\(count) on A { a }"
    let document = try DocumentSyntax(parsing: text)
    let selections = try await onSmallStack { Selections(of: document.operations[0], FragmentTable(document)) }
    let problem = try await onSmallStack { () -> Selections.Problem? in
      do throws(Selections.Problem) {
        _ = try selections.depths(upTo: 100)
        return nil
      } catch {
        return error
      }
    }
    // The operation is the first of a hundred sets, and that of F98 the last.
    #expect(problem == .tooDeep(limit: 100, SourceLocation(line: 100, column: 21)))
    #expect(problem?.description == "has more than 100 selection sets within one another, fragments included")
  }

  @Test func `a fragment that is less deep where it is met first is refused where it is too deep`() throws {
    let text = "{ ...f a { b { ...f } } } fragment f on A { c { d } }"
    #expect(try selections(text).depths(upTo: 5)[0] == 5)
    #expect(throws: Selections.Problem.tooDeep(limit: 4, SourceLocation(line: 1, column: 16))) {
      try selections(text).depths(upTo: 4)
    }
  }

  @Test func `fragments that contain themselves are resolved, and have no depth`() throws {
    let selections = try selections("{ ...f } fragment f on A { a { ...g } } fragment g on A { b ...f }")
    #expect(selections.count == 4)
    #expect(selections.collect([0]) { _ in true }.map(\.key) == ["a"])
    let problem = #expect(throws: Selections.Problem.self) { try selections.depths(upTo: 100) }
    #expect(problem == .endless(fragment: "f", SourceLocation(line: 1, column: 61)))
    #expect(problem?.description == "has the fragment 'f', which contains itself")
  }
}

extension Selections.Selection {
  fileprivate var field: Selections.Field? {
    if case .field(let field) = self { field } else { nil }
  }

  fileprivate var fragment: Selections.Fragment? {
    if case .fragment(let fragment) = self { fragment } else { nil }
  }
}
