import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import StrictJSON
import Testing

/// Each session has one mistake, or none; a schema of users, posts and tags.
@Suite struct SessionCheckTests {
  private let check: SessionCheck
  private let schema: Schema

  init() throws {
    schema = try Schema(parsing: Self.sdl)
    check = SessionCheck(schema)
  }

  private func lines<Session: GraphQLSession>(
    _ session: Session.Type, _ variables: Session.Variables
  ) -> [String] {
    check.findings(in: session, variables: [variables]).map(\.line)
  }

  private func lines<Session: GraphQLSession>(_ session: Session.Type) -> [String]
  where Session.Variables == NoParameters {
    check.findings(in: session).map(\.line)
  }

  @Test func `V2: a session that reads whatever the server may send has no findings`() {
    #expect(lines(Correct.self, .init(id: "1", first: nil, filter: .init(role: "ADMIN"), long: true)) == [])
    let report = check.report(on: Correct.self, variables: [.init(id: "1", first: 2, filter: nil, long: false)])
    #expect(report.findings == [])
    #expect(report.unexplored == ["variables.filter: is nil in every sample, so that what is in it was not checked."])
    #expect(report.responses == 18)
  }

  @Test func `V2: what passes reads responses in which everything is chosen at random`() throws {
    #expect(check.findings(in: OpenUnion.self) == [])
    #expect(check.findings(in: Lenient.self) == [])
    let fixtures = Fixtures(schema)
    for seed in 0..<200 as Range<UInt64> {
      _ = try fixtures.data(for: Correct.self, seed: seed, nulls: 0.5, lengths: 0...3)
      _ = try fixtures.data(for: OpenUnion.self, seed: seed, nulls: 0.5, lengths: 0...3)
      _ = try fixtures.data(for: Lenient.self, seed: seed, nulls: 0.5, lengths: 0...3)
    }
  }

  @Test func `a __typename that is read but not selected is missed by name`() {
    #expect(
      lines(Typename.self) == [
        "error data.search[].__typename: is read but not selected (add it to the query)"
      ])
  }

  @Test func `a check keeps nothing of the responses that it made up`() {
    weak var kept: Canary?
    do {
      let canary = Canary()
      kept = canary
      let coder = CanaryCoder(canary: canary)
      _ = SessionCheck(schema, coder: coder).findings(in: Nulls.self)
    }
    #expect(kept == nil)
  }

  @Test func `a name that is misspelt is found, with what may be meant, whether it is optional or not`() {
    #expect(
      lines(Misspelt.self) == [
        "error data.me.nmae: is read but not selected, and User has no such field; did you mean name?",
        "error data.me.nikname: is read but not selected, and User has no such field; did you mean nickname?",
        "warning data.me.name: is selected but never read", "warning data.me.nickname: is selected but never read",
      ])
  }

  @Test func `a field of the schema that is read but not selected is found`() {
    #expect(
      lines(Unselected.self) == [
        "error data.me.score: is read but not selected (User.score exists: add it to the query)",
        "warning data.me.nickname: is read but not selected (User.nickname exists: add it to the query)",
      ])
  }

  @Test func `wrong types are found: of scalars, lists, objects, and numbers that do not fit`() {
    #expect(
      lines(WrongTypes.self) == [
        "error data.me.id: is ID in the schema, but is read as Int",
        "error data.me.score: is Float in the schema, but is read as Int",
        "error data.me.friends: is [User] in the schema, but is read as Friends",
        "error data.me.best: is User in the schema, but is read as String",
        "error data.me.age: is Int in the schema, and can be 2147483647 or -2147483648, which Int8 cannot hold"
          + " [when data.me.age is 2147483647]",
      ])
  }

  @Test func `a missing optionality is found: of fields, of items in lists, and of objects`() {
    #expect(
      lines(Nulls.self) == [
        "error data.me.nickname: the schema says it can be null, but it is read as String, not String?"
          + " [when data.me.nickname is null]",
        "error data.me.friends[]: the schema says it can be null, but it is read as Friend, not Friend?"
          + " [when data.me.friends[] is null]",
        "error data.me.best: the schema says it can be null, but it is read as Friend, not Friend?"
          + " [when data.me.best is null]",
      ])
  }

  @Test func `types and enum values that are not handled are errors, those from the future are warnings`() {
    #expect(
      lines(Closed.self) == [
        "error data.me.role: Role.GUEST is in the schema, but Role does not accept it [when data.me.role is GUEST]",
        "error data.search[].name: is not in every response (here Post and Tag), but is read as String"
          + " [when data.search[] is of type Post]",
        "warning data.me.role: Role fails for a value that the server adds to Role later (use GraphQLEnum)"
          + " [when data.me.role is VALUE_FROM_THE_FUTURE]",
      ])
    #expect(
      lines(ClosedUnion.self) == [
        "error data.search[]: Hit does not accept an object of type Tag: no such type"
          + " [when data.search[] is of type Tag]",
        "warning data.search[]: Hit fails for a type that the server adds to Hit later"
          + " [when data.search[] is of type TypeFromTheFuture]",
      ])
  }

  @Test func `what @include and @skip leave out must be optional`() {
    #expect(
      lines(Conditional.self, .init(long: true, short: false)) == [
        "error data.me.name: can be left out by @include or @skip, but is read as String, not String? [when $long is false]",
        "error data.me.role: can be left out by @include or @skip, but is read as GraphQLEnum<Role>,"
          + " not GraphQLEnum<Role>? [when $short is true]",
      ])
  }

  @Test func `a file among the variables is held to its declaration, also in a list and in an input object`() throws {
    struct Attach: GraphQLSession {
      struct Item: Encodable, Sendable {
        let file: GraphQLUpload
        let files: [GraphQLUpload]
        let other: GraphQLUpload
      }
      struct Variables: Encodable, Sendable { let item: Item, wrong: GraphQLUpload, absent: GraphQLUpload? }
      struct ResponseData: Decodable, Sendable { let attach: Bool }
      static let query: GraphQLDocument = """
        mutation attach($item: Item!, $wrong: Item!, $absent: Upload) {
          attach(item: $item, wrong: $wrong, file: $absent)
        }
        """
      let variables: Variables
    }
    let schema = try Schema(
      parsing: """
        scalar Upload
        input Item { file: Upload!, files: [Upload!]!, other: Item }
        type Query { a: Int }
        type Mutation { attach(item: Item!, wrong: Item!, file: Upload): Boolean! }
        """)
    let file = GraphQLUpload(HTTPUpload(), fileName: "a")
    let item = Attach.Item(file: file, files: [file, file], other: file)
    let findings = SessionCheck(schema).findings(
      in: Attach.self, variables: [.init(item: item, wrong: file, absent: nil)])
    #expect(
      findings.map(\.line) == [
        "error variables.item.other: is Item, but a file is sent",
        "error variables.wrong: is Item!, but a file is sent",
      ])
  }

  @Test func `variables are held to their declarations: names, types, values, what is missing, what is never sent`() {
    #expect(
      lines(WrongVariables.self, .init()) == [
        "error variables.frist: is sent, but there is no such variable; did you mean first?",
        "error variables.filter.nmae: is sent, but Filter has no such field; did you mean name?",
        "error variables.filter.role: is Role!, which has no value ADMN; did you mean ADMIN?",
        "error variables.size: is Int, but a string is sent",
        "error variables.id: is ID! and required, but is never sent",
        "error variables.flag: is Boolean, but String is sent if it is not nil",
        "error variables.colour: is sent if it is not nil, but there is no such variable",
        "warning variables.first: is declared, but never sent",
      ])
    #expect(
      check.findings(in: WrongVariables.self, variables: []).map(\.line) == [
        "warning variables: are not checked, since there is no sample of them"
      ])
  }

  @Test func `a document that breaks rules is reported by them, and what it breaks is not reported twice`() {
    #expect(
      lines(WrongDocument.self) == [
        "error query: 1:16: User has no field \"naem\". Did you mean \"name\"? [FieldsOnCorrectType]"
      ])
    #expect(
      lines(Endless.self) == ["error query: 1:56: the fragment \"f\" spreads itself [NoFragmentCycles]"])
    #expect(
      lines(NoDocument.self) == [
        "error query: is not GraphQL: line 1, column 14: expected a selection or \"}\", found the end of the text"
      ])
  }

  @Test func `deprecated fields are warnings, with the reason`() {
    #expect(
      lines(Deprecated.self) == [
        "warning query: Query.search(kind:) is deprecated: No longer supported",
        "warning data.me.nick: User.nick is deprecated: use nickname",
      ])
  }

  @Test func `custom decoding, defaults, dictionaries and unions by __typename are no false alarms`() {
    #expect(lines(Lenient.self) == [])
    #expect(lines(OpenUnion.self) == [])
  }

  @Test func `scalars of the schema's own are read by the real decoder, and fields may have samples of their own`() {
    #expect(lines(Dates.self) == [])
    #expect(
      lines(Links.self) == ["error data.me.avatar: is String in the schema, but is read as UUID"])
    let samples: ScalarSamples = ["User.avatar": ["3f333df6-90a4-4fda-8dd3-9485d27cee36"]]
    #expect(SessionCheck(schema, samples: samples).findings(in: Links.self) == [])
    let report = check.report(on: Unknown.self)
    #expect(report.findings == [])
    #expect(report.unexplored == ["data.me.money: nothing is known of the scalar's values; pass samples of them."])
  }

  @Test func `a type that reads bytes is checked as it is used: what it does not read is found, and what it refuses`() {
    #expect(
      lines(Bytes.self) == [
        "error data.me.nickname: cannot be read: expected a string, found null [when data.me.nickname is null]",
        "warning data.me.name: is selected but never read",
      ])
    #expect(
      check.report(on: Bytes.self).unexplored == [
        "data: ResponseData reads bytes; what it reads although the document does not select it was not seen."
      ])
  }

  @Test func `keys in snake_case are read by a coder that converts them`() {
    let check = SessionCheck(schema, coder: JSONCoder(keys: .snakeCase))
    #expect(check.findings(in: Snake.self, variables: [.init(userID: "1")]).map(\.line) == [])
  }

  @Test func `V1: every error about responses shows one that a correct server may send and that fails`() throws {
    func expectProof<Session: GraphQLSession>(_ session: Session.Type, _ variables: [Session.Variables]) throws {
      let findings = check.findings(in: session, variables: variables)
      #expect(findings.contains { $0.severity == .error })
      for finding in findings where finding.severity == .error && finding.path.hasPrefix("data") {
        let witness = try #require(finding.witness)
        #expect(throws: DecodingError.self) {
          try JSONCoder().decode([String: Session.ResponseData].self, from: Data(witness.utf8))
        }
      }
    }
    try expectProof(Nulls.self, [NoParameters()])
    try expectProof(WrongTypes.self, [NoParameters()])
    try expectProof(Closed.self, [NoParameters()])
    try expectProof(Conditional.self, [.init(long: true, short: false)])
    let finding = try #require(check.findings(in: Nulls.self).first)
    #expect(
      finding.witness
        == #"{"data": {"me": {"nickname": null, "friends": [{"name": "text"}], "best": {"name": "text"}}}}"#)
  }

  @Test func `what a response from the future shows first is an error if one of today shows it, too`() throws {
    let finding = try #require(check.findings(in: EarlyFuture.self).first)
    #expect(finding.severity == .error)
    #expect(finding.witness?.contains("TypeFromTheFuture") == false)
  }

  @Test func `findings can be suppressed by their path, or by the beginning of it`() {
    let check = SessionCheck(schema, suppress: ["data.me.nickname", "data.me.fr*", "data.me"])
    #expect(check.findings(in: Nulls.self).map(\.path) == ["data.me.best"])
  }
}

extension SessionCheck.Finding {
  /// The finding without its witness.
  var line: String {
    var finding = self.description
    if let witness, let range = finding.range(of: ", as in \(witness)") { finding.removeSubrange(range) }
    return finding
  }
}

private final class Canary: Sendable {}

/// A coder that shows whether it is kept.
private struct CanaryCoder: BodyDecoder, BodyEncoder {
  let canary: Canary

  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
    try JSONCoder().decode(type, from: body)
  }

  func encode(_ value: some Encodable) throws -> Data { try JSONCoder().encode(value) }
}
