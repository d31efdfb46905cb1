import Foundation
import GraphQLGeneration
import Testing

/// Names that Swift or the generated code has a meaning for, and texts with quotes of all kinds: what is generated of them
/// compiles, without warnings.
@Suite struct CompiledNamesTests {
  private static let schema = #"""
    directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
    scalar DateTime scalar Big scalar Any scalar Upload
    type Query {
      answer(of: Response, by: Session, at: Date, in: Variables, hash: Int, word: Int): Response
      session: Session
      any: JSONValue
      values: Values
      int64: Counted
      observableEnum: Observed
      named: Named
      part: Part
      void: Void
      records: RecordSchema
      search(text: String!): Int
      words: Words
      asked(for: Parameters): Gone
      choice(of: OldChoice): Gone
    }
    type Mutation { send(file: Upload, files: Files, one: OneFile): Void }
    enum Response { YES NO }
    enum Session { OPEN }
    enum Gone { OLD @deprecated OLDER @deprecated(reason: "Gone") }
    enum JSONValue { A }
    enum Void { A }
    enum RecordSchema { A }
    enum Observable { A }
    enum Values { ALL_CASES RawValue AllCases hashValue init self Self Type none some unknown String Values OLD @deprecated }
    input Parameters { a: Int }
    input OldChoice @oneOf { a: Int @deprecated b: Parameters @deprecated }
    input Variables { Indirect: Int in: Variables String: String }
    input Date { at: DateTime any: Any }
    input Files { CodingKeys: Upload }
    input OneFile @oneOf { CodingKeys: Upload encoder: Int }
    type Counted { big: Big }
    type Observed { observable: Observable }
    interface Named { PossibleTypes: Int }
    interface More implements Named { PossibleTypes: Int }
    type Both implements Named & More { PossibleTypes: Int }
    type Less implements Named { PossibleTypes: Int }
    union Part = _1 | Counted
    type _1 { at: DateTime }
    "one\u0000 two"
    type Words { any: Int each: Int copy: Int inout: Int let: Int var: Int get: Int @deprecated String: Int document: Int }
    """#

  private static let documents = [
    #"""
    query Answer(
      $variables: Response, $sessionHandler: Session, $session: Date, $Session: Variables, $Variables: Int, $hashValue: Int!
      $inout: Int, $let: Int, $var: Int, $json: Int, $parameters: Parameters, $old: OldChoice
    ) {
      answer(of: $variables, by: $sessionHandler, at: $session, in: $Session, hash: $hashValue, word: $Variables)
      a: answer(word: $inout) b: answer(word: $let) c: answer(word: $var) d: answer(word: $json)
      session
      any
      PossibleTypes: any
      values
      int64 { big }
      observableEnum { observable }
      named { PossibleTypes ... on More { PossibleTypes } }
      part { ... on _1 { at } ... on Counted { big } }
      records
      asked(for: $parameters)
      choice(of: $old)
      ...ResponseType
    }
    query SessionHandler { session ...ResponseData }
    query Later { void ... @defer(label: "a\"b\\(f())") { session } ... @defer(label: "Details") { any } }
    query Words { words { any each copy inout let var get String document } ...Date }
    fragment ResponseData on Query { session ...Variables ...Session }
    fragment Variables on Query { any }
    fragment ResponseType on Query { any }
    fragment Session on Query { words { ...Words } }
    fragment Words on Words { any document String }
    fragment Date on Query { part { ... on _1 { at } } }
    mutation Send($CodingKeys: Upload, $files: Files, $one: OneFile) { send(file: $CodingKeys, files: $files, one: $one) }
    """#,
    "query Texts {\r\n  search(text: \"\"\"\r\n    a\r\n    \\\"\"\"#\r\n  \"\"\")  # \"\"\"\u{301} \\\u{301} \u{1}\r\n}",
  ]

  private static func configuration(isPlain: Bool) -> GenerationConfiguration {
    Sample.configuration {
      $0.scalars["Big"] = .init("Int64")
      $0.scalars["Any"] = .init("JSONValue")
      $0.recordSchema = "everything"
      if isPlain { return }
      $0.enumCases = .asWritten
      $0.includesDeprecated = false
      $0.equality = .hashable
      $0.minifiesDocuments = true
      $0.isMutable = true
      $0.access = .internal
    }
  }

  @Test(arguments: [true, false])
  func `V4: what has a meaning in Swift or in the generated code compiles all the same`(isPlain: Bool) async throws {
    let code = try Generator(Self.configuration(isPlain: isPlain)).generate(
      schema: [GenerationSource(name: "schema.graphql", text: Self.schema)],
      documents: Self.documents.enumerated().map { GenerationSource(name: "\($0).graphql", text: $1) })
    let program = try GeneratedProgram()
    for file in code.files { try program.write(file.text, to: file.name) }
    let said = try await program.check()
    #expect(said == "")
  }
}
