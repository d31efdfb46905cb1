import Foundation
import GraphQLLanguage
import GraphQLSchema
import TestSupport
import Testing

/// The same documents validated by graphql-core, the port of graphql-js: both must find the same errors, rule by rule, in
/// the same places.
@Suite struct DifferentialTests {
  /// What a rule found in one place.
  private struct Finding: Hashable, Comparable, CustomStringConvertible {
    let rule: String
    /// Line and column, line and column…
    let places: [[Int]]

    var description: String { "\(rule) \(places)" }

    static func < (a: Finding, b: Finding) -> Bool { a.description < b.description }
  }

  private struct Response: Decodable {
    /// Nil if the document does not parse.
    let findings: [Finding]?

    init(from decoder: any Decoder) throws {
      if try decoder.singleValueContainer().decodeNil() {
        findings = nil
        return
      }
      var list = try decoder.unkeyedContainer()
      var findings: [Finding] = []
      while !list.isAtEnd {
        var pair = try list.nestedUnkeyedContainer()
        findings.append(Finding(rule: try pair.decode(String.self), places: try pair.decode([[Int]].self)))
      }
      self.findings = findings
    }
  }

  private func compare(_ texts: [String], _ corpus: Corpus) async throws -> Int {
    let requests = texts.map { ["schema": corpus.sdl, "document": $0] }
    let responses = try await GraphQLCore.run("validate", requests, as: Response.self)
    #expect(responses.count == texts.count)
    var compared = 0
    for (text, response) in zip(texts, responses) {
      let document = try? DocumentSyntax(parsing: text)
      guard let document, let expected = response.findings else {
        // graphql-core accepts selection sets without selections, an experiment of graphql-js.
        #expect((document == nil) == (response.findings == nil) || text.contains("{ }"), "\(text)")
        continue
      }
      compared += 1
      let found = corpus.schema.validate(document, limit: 1_000).map { error in
        Finding(
          rule: error.rule?.rawValue ?? "none", places: error.locations.map { [$0.line, $0.column] })
      }
      // graphql-core finds a list or an object in the place of a scalar, but loses the place.
      let unplaced = expected.filter { $0.rule == "ValuesOfCorrectType" && $0.places.isEmpty }.count
      let placed = expected.filter { !$0.places.isEmpty }.sorted()
      var rest = found.sorted()
      for finding in placed {
        guard let index = rest.firstIndex(of: finding) else {
          Issue.record("graphql-core alone finds \(finding) in \(text)")
          continue
        }
        rest.remove(at: index)
      }
      #expect(rest.count == unplaced, "\(rest) in \(text)")
      #expect(rest.allSatisfy { $0.rule == "ValuesOfCorrectType" }, "\(rest) in \(text)")
    }
    return compared
  }

  @Test func `each document of the corpus has the errors that graphql-core finds`() async throws {
    let corpus = try Corpus()
    let compared = try await compare(corpus.samples.map(\.text), corpus)
    #expect(compared == corpus.samples.count)
  }

  @Test(arguments: [1, 2, 3])
  func `random changes of the corpus have the errors that graphql-core finds`(seed: UInt64) async throws {
    let corpus = try Corpus()
    var mutator = Mutator(corpus.samples.map(\.text), seed: seed)
    let texts = (0..<TestScale.count(150, long: 7_000)).map { _ in mutator.next() }
    let compared = try await compare(texts, corpus)
    #expect(compared > texts.count / 5)
  }
}

/// Changes documents at random, by tokens, so that many of the results still parse.
struct Mutator {
  private var generator: SplitMix
  private let documents: [[String]]
  private let words: [String]

  init(_ texts: [String], seed: UInt64) {
    generator = SplitMix(seed: seed)
    // Definitions of types in a document are one error here, and others besides in graphql-core.
    documents = texts.filter { !$0.contains("type Extra") && !$0.contains("extend type") }.map(Self.tokens)
    words = Array(Set(documents.joined().filter(Self.isWord))).sorted()
  }

  mutating func next() -> String {
    var tokens = pick(documents)
    for _ in 0..<Int.random(in: 1...3, using: &generator) { change(&tokens) }
    return tokens.joined(separator: " ")
  }

  private mutating func change(_ tokens: inout [String]) {
    guard tokens.count > 1 else { return }
    let place = Int.random(in: tokens.indices, using: &generator)
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: if Self.isWord(tokens[place]) { tokens[place] = pick(words) }
    case 1: tokens.remove(at: place)
    case 2:
      let end = min(tokens.count, place + Int.random(in: 1...8, using: &generator))
      tokens.insert(contentsOf: Array(tokens[place..<end]), at: place)
    case 3:
      let other = pick(documents)
      let start = Int.random(in: other.indices, using: &generator)
      let end = min(other.count, start + Int.random(in: 1...10, using: &generator))
      tokens.insert(contentsOf: other[start..<end], at: place)
    case 4:
      let other = Int.random(in: tokens.indices, using: &generator)
      if Self.isWord(tokens[place]) && Self.isWord(tokens[other]) { tokens.swapAt(place, other) }
    default: tokens += pick(documents)
    }
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &generator)]
  }

  private static func isWord(_ token: String) -> Bool {
    guard let first = token.utf8.first else { return false }
    return first == UInt8(ascii: "_") || first == UInt8(ascii: "\"") || isLetterOrDigit(first)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func tokens(_ text: String) -> [String] {
    var result: [String] = []
    var rest = Substring(text)
    while let first = rest.first {
      let token: Substring
      if first.isWhitespace {
        rest = rest.drop(while: \.isWhitespace)
        continue
      } else if first == "\"" {
        token = "\"" + rest.dropFirst().prefix { $0 != "\"" } + "\""
      } else if first == "_" || first.isLetter || first.isNumber {
        token = rest.prefix { $0 == "_" || $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "+" }
      } else {
        token = rest.prefix(rest.hasPrefix("...") ? 3 : 1)
      }
      result.append(String(token))
      rest = rest.dropFirst(token.count)
    }
    return result
  }
}
