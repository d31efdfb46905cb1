import GraphQLLanguage
import TestSupport
import Testing

@Suite struct FragmentTableTests {
  /// The texts of the fragments that the first operation of a document reaches, in order.
  private func reached(in documents: [DocumentSyntax], from document: Int = 0) -> [String] {
    let table = FragmentTable(documents)
    return table.reached(from: documents[document].operations[0].node, in: document).map { table.all[$0].syntax.text }
  }

  private func names(_ text: String) throws -> [String] {
    let document = try DocumentSyntax(parsing: text)
    let table = FragmentTable(document)
    return table.reached(from: document.operations[0].node).map { table.all[$0].syntax.name.text }
  }

  @Test(arguments: [1, 20])
  func `of two fragments of one name the last counts, however many there are`(others: Int) throws {
    let fragments = (0..<others).map { "fragment o\($0) on A { o }" }.joined(separator: " ")
    let document = try DocumentSyntax(
      parsing: "{ ...f } fragment f on A { first } \(fragments) fragment f on A { last }")
    let table = FragmentTable(document)
    #expect(table.all.count == others + 2)
    #expect(reached(in: [document]) == ["fragment f on A { last }"])
  }

  @Test func `a spread means the fragment of its own document, or else that of the first document that has one`() throws
  {
    let documents = try [
      "{ ...f ...g } fragment f on A { own }",
      "fragment f on A { second } fragment g on A { ...f ...h }",
      "fragment g on A { third } fragment h on A { third }", "fragment h on A { fourth }",
    ].map { try DocumentSyntax(parsing: $0) }
    #expect(
      reached(in: documents) == [
        "fragment f on A { own }", "fragment g on A { ...f ...h }", "fragment f on A { second }",
        "fragment h on A { third }",
      ])
  }

  @Test func `fragments are reached once, in the order in which they are met, those of a fragment after it`() throws {
    #expect(
      try names(
        """
        { a { ...c } ...b ... on A { ...d ...b } }
        fragment e on A { x } fragment d on A { ...c } fragment c on A { ...e } fragment b on A { y { ...f } }
        fragment f on A { ...none } fragment unused on A { z }
        """) == ["c", "e", "b", "f", "d"])
  }

  @Test func `fragments that spread each other are reached once`() throws {
    #expect(
      try names("{ ...a } fragment a on A { ...b ...a } fragment b on A { ...c } fragment c on A { ...a }") == [
        "a", "b", "c",
      ])
  }

  @Test(arguments: [300, 50_000])
  func
    `V3: a chain of fragments that each spread the next twice is followed in steps that it has spreads, on a small stack`(
      count: Int
    ) async throws
  {
    let chain = (0..<count).map { "fragment F\($0) on A { ...F\($0 + 1) ...F\($0 + 1) }" }.joined(separator: " ")
    let document = try DocumentSyntax(parsing: "{ ...F0 } \(chain) fragment F\(count) on A { a }")
    let (reached, steps) = try await onSmallStack {
      let table = FragmentTable(document)
      var steps = 0
      let reached = table.reached(from: table.spreads(in: document.operations[0].node), of: 0) { spread, _ in
        steps += 1
        return spread.fragment.map { [$0] } ?? []
      }
      return (reached, steps)
    }
    #expect(reached == Array(0...count))
    #expect(steps == 2 * count + 1)
  }

  @Test func `several fragments that a name may mean are all reached`() throws {
    let documents = try ["{ ...f }", "fragment f on A { ...g }", "fragment f on A { b } fragment g on A { c }"]
      .map { try DocumentSyntax(parsing: $0) }
    let table = FragmentTable(documents)
    let reached = table.reached(from: table.spreads(in: documents[0].operations[0].node), of: 0) { spread, _ in
      table.all.indices.filter { table.all[$0].syntax.name == spread.syntax.name }
    }
    #expect(Set(reached) == [0, 1, 2])
  }
}
