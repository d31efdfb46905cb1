import GraphQLLanguage
import GraphQLSchema
import Testing

@Suite struct CorpusTests {
  @Test func `the corpus has documents that keep each rule and, where the schema allows it, documents that break it`()
    throws
  {
    let corpus = try Corpus()
    #expect(corpus.schema.problems.isEmpty)
    for rule in ValidationRule.allCases {
      let samples = corpus.samples.filter { $0.rule == rule }
      #expect(samples.contains { $0.isValid }, "\(rule)")
      // The schema has all kinds of operations.
      #expect(samples.contains { !$0.isValid } || rule == .knownOperationTypes, "\(rule)")
    }
  }

  @Test(arguments: ValidationRule.allCases)
  func `a document of the corpus keeps or breaks its rule`(_ rule: ValidationRule) throws {
    let corpus = try Corpus()
    for sample in corpus.samples where sample.rule == rule {
      let document = try DocumentSyntax(parsing: sample.text)
      let errors = corpus.schema.validate(document, rules: [rule])
      #expect(errors.isEmpty == sample.isValid, "\(sample.text) \(errors)")
      #expect(errors.allSatisfy { $0.rule == rule && !$0.locations.isEmpty })
      // A rule finds the same alone and among the others.
      #expect(corpus.schema.validate(document).filter { $0.rule == rule } == errors)
    }
  }

  @Test(arguments: [("\u{E9}", true), ("e\u{301}", false)])
  func `arguments differ if their bytes do, also where Swift takes the texts for equal`(text: String, isValid: Bool)
    throws
  {
    let schema = try Schema(parsing: "type Query { a(b: String): Int }")
    let document = try DocumentSyntax(parsing: "{ a(b: \"\u{E9}\") a( b: \"\(text)\") }")
    #expect(schema.validate(document).isEmpty == isValid)
  }

  @Test func `a schema without mutations and subscriptions refuses them`() throws {
    let schema = try Schema(parsing: "type Query { a: Int }")
    let document = try DocumentSyntax(parsing: "mutation A { a } subscription B { a } query C { a }")
    #expect(
      schema.validate(document).map(\.description) == [
        "1:1: the schema has no mutation operations [KnownOperationTypes]",
        "1:18: the schema has no subscription operations [KnownOperationTypes]",
      ])
  }
}
