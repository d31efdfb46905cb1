import Foundation
import GraphQLLanguage
import TestSupport
import Testing

/// The parser and the printer beside graphql-core's: over the fuzzer's corpus, the project's schemas, and mutations of both.
@Suite struct LanguageOracleTests {
  private struct Response: Decodable, Equatable {
    var printed: String?
    var line: Int?
    var column: Int?
  }

  private static func response(to text: String) -> Response {
    do {
      return Response(printed: try DocumentSyntax(parsing: text).printed())
    } catch {
      return Response(line: error.location.line, column: error.location.column)
    }
  }

  private func corpus() throws -> [String] {
    let folder = RepositoryLayout.root.appendingPathComponent("Fuzz/GraphQLLanguage/corpus")
    var files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    files.append(RepositoryLayout.schema)
    files.append(RepositoryLayout.root.appendingPathComponent("Examples/OtherSchema/schema.graphql"))
    return try files.map { try String(contentsOf: $0, encoding: .utf8) }.sorted()
  }

  @Test
  func
    `documents are accepted, refused and printed to the byte as graphql-core does, and their errors have the same places`()
    async throws
  {
    var random = Mutations(seed: 26)
    let corpus = try corpus()
    var texts = corpus
    for _ in 0..<4000 { texts.append(random.mutation(of: corpus)) }
    let responses: [Response] = try await GraphQLCore.run("print", texts)
    #expect(responses.count == texts.count)
    var (valid, refused, elsewhere) = (0, 0, 0)
    for (text, theirs) in zip(texts, responses) {
      let ours = Self.response(to: text)
      if theirs.printed != nil { valid += 1 }
      // graphql-core accepts `{}`, which the specification does not.
      if theirs.printed?.contains("{}") == true { continue }
      #expect(ours.printed == theirs.printed, "\(text)")
      guard ours.printed == nil else { continue }
      refused += 1
      if ours != theirs { elsewhere += 1 }
    }
    // In a text with two mistakes, `{}` lets graphql-core come as far as the second; and it gives the place of a string
    // that is not closed one column before its end, and that of two strings in a row at the first.
    #expect(elsewhere * 100 < refused * 2, "\(elsewhere) of \(refused)")
    #expect(valid > 400)
  }
}

/// Texts that differ from others in a few places.
private struct Mutations {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  private mutating func number(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % max(1, limit)
  }

  /// Without characters beyond 16 bits, whose columns graphql-core counts as one and graphql-js as two.
  private static let tokens = [
    "{", "}", "(", ")", "[", "]", "!", "$", "@", "|", "&", ":", "=", "...", " on ", " query ", " type ", " extend ",
    " input ", " enum ", " implements ", "\"", "\"\"\"", "#", "\n", "\r\n", " ", ",", "-", "0", "1", ".", "e", "1.5",
    "true", "null", " name ", "a", "\u{FEFF}", "é", " interface ", " union ", " scalar ", " directive ", " repeatable ",
    " fragment ", " subscription ", " schema ", "\"a\"", "\"\"\"b\n c\"\"\"", "\"\"",
  ]

  mutating func mutation(of corpus: [String]) -> String {
    var scalars = Array(corpus[number(below: corpus.count)].unicodeScalars).filter { $0.value < 0x10000 }
    for _ in 0..<[0, 1, 1, 1, 2, 4][number(below: 6)] {
      let start = number(below: scalars.count + 1)
      let end = min(scalars.count, start + [1, 1, 1, 2, 8][number(below: 5)])
      let token = Array(Self.tokens[number(below: Self.tokens.count)].unicodeScalars)
      switch number(below: 4) {
      case 0: scalars.removeSubrange(start..<end)
      case 1: scalars.insert(contentsOf: token, at: start)
      case 2: scalars.replaceSubrange(start..<end, with: token)
      default: scalars.insert(contentsOf: scalars[start..<end], at: number(below: scalars.count + 1))
      }
    }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }
}
