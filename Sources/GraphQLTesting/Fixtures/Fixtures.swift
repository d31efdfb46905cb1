public import GraphQLClient
import GraphQLLanguage
public import GraphQLSchema
import HTTPClientCore
public import StrictJSON
import SystemBase

/// Valid responses for any session, made up from the schema: for previews, and for tests that need some data.
///
///     let fixtures = Fixtures(try Schema(parsing: sdl))
///     let data = try fixtures.data(for: GetUser.self, seed: 7, overrides: ["user.name": "Wei", "user.friends": []])
///
/// The same seed gives the same data, as long as neither the schema nor the document changes. Ids are all different.
public struct Fixtures: Sendable {
  private let schema: Schema
  private let samples: ScalarSamples
  private let decoder: any BodyDecoder

  /// Makes fixtures.
  /// - Parameters:
  ///   - schema: The server's schema.
  ///   - samples: Values of the schema's own scalars, and of fields whose texts have a form of their own.
  ///   - decoder: What reads JSON, as the client's `decoder`.
  public init(_ schema: Schema, samples: ScalarSamples = ScalarSamples(), decoder: some BodyDecoder = JSONCoder()) {
    self.schema = schema
    self.samples = samples
    self.decoder = decoder
  }

  /// Data that a session could get.
  /// - Parameters:
  ///   - session: The session's type.
  ///   - seed: What the data are made up by.
  ///   - nulls: How often a nullable field is null, from 0 to 1.
  ///   - lengths: How many items lists have.
  ///   - overrides: Values by their paths below `data`: `user.name`, `user.friends[0].name` for one item, and
  ///     `user.friends[].name` for all. An object gives some of its fields, a list all of its items.
  /// - Throws: What is wrong with an override or with the document, or why the session cannot read the data.
  public func data<Session: GraphQLSession>(
    for session: Session.Type, seed: UInt64 = 0, nulls: Double = 0, lengths: ClosedRange<Int> = 1...3,
    overrides: [String: JSONValue] = [:]
  ) throws(FixtureError) -> Session.ResponseData {
    let body = try body(for: session, seed: seed, nulls: nulls, lengths: lengths, overrides: overrides)
    let headers: HTTPHeaders = ["Content-Type": "application/graphql-response+json"]
    let response = HTTPResponse(status: 200, headers: headers, body: Data(body.utf8))
    do {
      return try ResponseParser<Session.ResponseType>.graphQL(.none).parse(response, by: decoder).data
    } catch {
      throw FixtureError(
        "\(Session.self) cannot read what its schema allows: \(error.message) A contract check says more.")
    }
  }

  /// The response to a session as JSON, for a transport that responds by a script; see `data(for:)`.
  public func body<Session: GraphQLSession>(
    for session: Session.Type, seed: UInt64 = 0, nulls: Double = 0, lengths: ClosedRange<Int> = 1...3,
    overrides: [String: JSONValue] = [:]
  ) throws(FixtureError) -> String {
    let result: Result<String, FixtureError> = onDeepStack {
      do throws(FixtureError) {
        return .success(try makeBody(for: session, seed, nulls, lengths, overrides))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func makeBody<Session: GraphQLSession>(
    for session: Session.Type, _ seed: UInt64, _ nulls: Double, _ lengths: ClosedRange<Int>,
    _ overrides: [String: JSONValue]
  ) throws(FixtureError) -> String {
    let plan = try plan(for: session)
    let choices = SeededChoices(seed: seed, nulls: nulls, lengths: lengths, samples: samples)
    let generator = ResponseGenerator(plan: plan, samples: samples, chooser: choices)
    let root = Place(path: "data")
    var response = generator.response(at: root)
    let editor = ResponseEditor(generator: generator)
    // Shorter paths first, so that a part of an object that is given can be given, too.
    for (path, value) in overrides.sorted(by: { ($0.key.utf8.count, $0.key) < ($1.key.utf8.count, $1.key) }) {
      try editor.set(path, to: value, in: &response)
    }
    // A scalar of which nothing is known gets a value that the session reads.
    Recording(decoder: decoder).read(Session.ResponseData.self, from: response)
    return #"{"data": "# + response.json() + "}"
  }

  private func plan<Session: GraphQLSession>(for session: Session.Type) throws(FixtureError) -> OperationPlan {
    let document: DocumentSyntax
    do {
      document = try DocumentSyntax(parsing: session.query.text)
    } catch {
      throw FixtureError("The document of \(session) is not GraphQL: \(error)")
    }
    if let error = schema.validate(document, limit: 1).first {
      throw FixtureError("The schema does not have what \(session) asks for: \(error)")
    }
    do {
      return try OperationPlan(operation: nil, in: document, schema)
    } catch {
      throw FixtureError("The document of \(session) \(error).")
    }
  }
}

/// Why there is no fixture.
public struct FixtureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and where.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Chooses by a seed.
private final class SeededChoices: Chooser {
  private var random: SplitMix
  private let nulls: Double
  private let lengths: ClosedRange<Int>
  private let samples: ScalarSamples
  private var ids = 0

  init(seed: UInt64, nulls: Double, lengths: ClosedRange<Int>, samples: ScalarSamples) {
    random = SplitMix(seed: seed)
    self.nulls = nulls
    self.lengths = lengths
    self.samples = samples
  }

  func choose(_ choice: Choice, at place: Place, isLater: Bool) -> Int {
    switch choice {
    case .null: Double.random(in: 0..<1, using: &random) < nulls ? 1 : 0
    // The last type and the last value of an enum are those from the future.
    case .type(let names): Int.random(in: 0..<max(1, names.count - 1), using: &random)
    case .value(let values):
      Int.random(
        in: 0..<max(1, values.count - (values.last == .string(ScalarSamples.futureValue) ? 1 : 0)), using: &random)
    }
  }

  func length(at place: Place) -> Int { max(0, Int.random(in: lengths, using: &random)) }

  func flag(_ variable: String, usually: Bool) -> Bool { usually }

  func scalar(_ type: NamedType, at place: Place, isKnown: Bool) -> JSONValue? {
    let number = Int.random(in: 1...99, using: &random)
    switch type.name {
    case _ where isKnown: return nil
    case "ID":
      ids += 1
      return .string("\(ids)")
    case "Int": return .integer(Int64(number))
    case "Float": return .number(Double(number) + 0.5)
    case "String": return .string(text(for: place.fieldOfItems?.name ?? "text", number))
    default: return nil
    }
  }

  /// A text that looks like what a field of this name has.
  private func text(for name: String, _ number: Int) -> String {
    let lowercased = name.lowercased()
    let names = ["Wei", "Ana", "Noor", "Tom", "Mia", "Kofi", "Lena", "Ravi", "Zoe", "Ivo"]
    let person = names[number % names.count]
    if lowercased.contains("email") { return "\(person.lowercased())@example.com" }
    if ["url", "uri", "avatar", "image", "photo", "link"].contains(where: lowercased.contains) {
      return "https://example.com/\(name)/\(number)"
    }
    return lowercased.hasSuffix("name") ? person : "\(name) \(number)"
  }
}

/// Numbers that a seed determines (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}
