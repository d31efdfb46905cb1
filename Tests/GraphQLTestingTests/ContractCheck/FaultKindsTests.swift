import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import StrictJSON
import TestSupport
import Testing

/// Kinds of mistakes, and of right code that looks like one.
@Suite struct FaultKindsTests {
  private static let sdl = """
    directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
    scalar Date
    scalar Money
    type Query {
      me: User! users: [User!]! hits: [Hit!]! maybe: [User]! node: Node project: Project!
      find(id: ID!, ids: [ID!], count: Int, day: Date, price: Money, name: String): User
    }
    interface Node { id: ID! }
    type Project implements Node { id: ID! @deprecated(reason: "use key") key: String! }
    type User implements Node {
      id: ID! name: String! nickname: String best: User ratio: Float! score: Int! role: Role! settings: Settings!
    }
    type Settings { theme: String! size: Int! }
    type Post implements Node { id: ID! title: String! }
    type Tag implements Node { id: ID! label: String! }
    union Hit = User | Post | Tag
    enum Role { ADMIN GUEST EDITOR }
    """

  private let schema: Schema
  private let check: SessionCheck

  init() throws {
    schema = try Schema(parsing: Self.sdl)
    check = SessionCheck(schema)
  }

  // MARK: Types that contain themselves

  private final class Endless: Decodable, Sendable {
    let name: String
    let best: Endless
  }

  private final class OptionalBest: Decodable, Sendable {
    let name: String
    let best: OptionalBest?
  }

  private indirect enum Wrapped: Decodable, Sendable {
    case named(String)
    case other(Wrapped)

    enum CodingKeys: CodingKey { case __typename, name, best }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      switch try container.decode(Int.self, forKey: .__typename) {
      case 7: self = .named(try container.decode(String.self, forKey: .name))
      default: self = .other(try container.decode(Wrapped.self, forKey: .best))
      }
    }
  }

  private struct Recursive<Value: Decodable & Sendable>: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let me: Value }
    static var query: GraphQLDocument { "query recursive { me { __typename name best { __typename name } } }" }
  }

  @Test func `V2: a type that contains itself is checked as deep as the document selects it, on any stack`()
    async throws
  {
    let check = check
    let endless = try await onSmallStack { check.findings(in: Recursive<Endless>.self).map(\.line) }
    #expect(endless.contains { $0.hasPrefix("error data.me.best.best: is read but not selected") }, "\(endless)")
    #expect(try await onSmallStack { check.findings(in: Recursive<OptionalBest>.self) }.map(\.line) == [])
    let wrapped = try await onSmallStack { check.findings(in: Recursive<Wrapped>.self).map(\.path) }
    #expect(wrapped.contains("data.me.__typename"), "\(wrapped)")
  }

  // MARK: What decoders are given

  private static let prefix = CodingUserInfoKey(rawValue: "prefix")

  private struct Prefixed: GraphQLSession {
    struct Name: Codable, Sendable {
      let text: String

      init(text: String) { self.text = text }

      init(from decoder: any Decoder) throws {
        let prefix = prefix.flatMap { decoder.userInfo[$0] as? String }
        guard let prefix else {
          throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "there is no prefix"))
        }
        text = prefix + (try decoder.singleValueContainer().decode(String.self))
      }

      func encode(to encoder: any Encoder) throws {
        guard let key = prefix, encoder.userInfo[key] is String else {
          throw EncodingError.invalidValue(text, .init(codingPath: [], debugDescription: "there is no prefix"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(text)
      }
    }
    struct Variables: Encodable, Sendable { let id: Name, nmae: String? }
    struct User: Decodable, Sendable { let name: Name }
    struct ResponseData: Decodable, Sendable { let find: User? }
    static let query: GraphQLDocument = "query prefixed($id: ID!) { find(id: $id) { name } }"
    let variables: Variables
  }

  @Test func `types are given the coder's userInfo, for responses and for variables`() throws {
    let key = try #require(Self.prefix)
    let check = SessionCheck(schema, coder: JSONCoder(userInfo: [key: "Ms "]))
    let findings = check.findings(in: Prefixed.self, variables: [.init(id: .init(text: "1"), nmae: nil)])
    #expect(findings.map(\.path) == ["variables.nmae"])
  }

  private struct Keyed: GraphQLSession {
    struct User: Decodable, Sendable { let id: String, name: String }
    struct ResponseData: Decodable, Sendable {
      let users: [String: User], names: [String: User]

      enum CodingKeys: CodingKey { case users }

      init(from decoder: any Decoder) throws {
        let users = try decoder.container(keyedBy: CodingKeys.self).decode([User].self, forKey: .users)
        self.users = Dictionary(uniqueKeysWithValues: users.map { ($0.id, $0) })
        names = Dictionary(uniqueKeysWithValues: users.map { ($0.name, $0) })
      }
    }
    static let query: GraphQLDocument = "query keyed { users { id name } }"
  }

  @Test func `the items of a list have ids of their own`() {
    #expect(check.findings(in: Keyed.self) == [])
  }

  // MARK: Values

  private struct Numbers: GraphQLSession {
    struct ID: Decodable, Sendable {
      init(from decoder: any Decoder) throws {
        guard Int(try decoder.singleValueContainer().decode(String.self)) != nil else {
          throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no number"))
        }
      }
    }
    struct User: Decodable, Sendable { let id: ID, ratio: Float }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query numbers { me { id ratio } }"
  }

  @Test func `the edges of numbers and of ids are tried`() {
    let findings = check.findings(in: Numbers.self)
    #expect(findings.map(\.path) == ["data.me.id", "data.me.ratio"])
    #expect(findings.allSatisfy { $0.severity == .error })
    #expect(findings.last?.message.hasSuffix("which Float cannot hold") == true, "\(findings)")
    #expect(SessionCheck(schema, samples: ["ID": ["7"]]).findings(in: Numbers.self).map(\.path) == ["data.me.ratio"])
  }

  private struct FirstDecides: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      enum CodingKeys: CodingKey { case maybe }

      init(from decoder: any Decoder) throws {
        let users = try decoder.container(keyedBy: CodingKeys.self).decode([[String: String]?].self, forKey: .maybe)
        // All are there, or none is, thinks who wrote it.
        if let first = users.first, first != nil, users.contains(nil) {
          throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "some are missing"))
        }
      }
    }
    static let query: GraphQLDocument = "query mixed { maybe { name } }"
  }

  @Test func `the items of a list are of different kinds`() {
    let finding = check.findings(in: FirstDecides.self).first
    #expect(finding?.condition == "data.maybe has 2 items and data.maybe[1] is null")
  }

  private struct Unlabelled: GraphQLSession {
    struct User: Decodable, Sendable { let id: String, name: String }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query unlabelled { me { id ... @defer { name } } }"
  }

  @Test func `a deferred field without a label is read as optional`() {
    #expect(
      check.findings(in: Unlabelled.self).map(\.message) == [
        "can arrive later, as its fragment has @defer, but is read as String: give the fragment a label and read it as "
          + "Deferred, or read String?"
      ])
  }

  // MARK: One mistake, one finding

  private struct Flat: GraphQLSession {
    struct Hit: Decodable, Sendable { let name: String }
    struct ResponseData: Decodable, Sendable { let hits: [Hit] }
    static let query: GraphQLDocument = "query flat { hits { ... on User { name } } }"
  }

  private struct ClosedRole: GraphQLSession {
    enum Role: String, Decodable { case admin = "ADMIN" }
    struct User: Decodable, Sendable { let role: Role }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query role { me { role } }"
  }

  @Test func `one mistake is one finding, which names the types and values that it concerns`() {
    #expect(
      check.findings(in: Flat.self).map(\.message) == [
        "is not in every response (here Post and Tag), but is read as String"
      ])
    #expect(
      check.findings(in: ClosedRole.self).map(\.message) == [
        "Role.GUEST and Role.EDITOR are in the schema, but Role does not accept them",
        "Role fails for a value that the server adds to Role later (use GraphQLEnum)",
      ])
  }

  // MARK: No false alarms

  private struct Alternatives: GraphQLSession {
    struct User: Decodable, Sendable {
      let title: String
      let score: Int

      enum CodingKeys: CodingKey { case nickname, name, score }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let nickname = try? container.decode(String.self, forKey: .nickname) {
          title = nickname
        } else {
          title = try container.decode(String.self, forKey: .name)
        }
        score = Int(try container.decode(Int8.self, forKey: .score))
      }
    }
    struct ResponseData: Decodable, Sendable { let me: User }
    static let query: GraphQLDocument = "query alternatives { me { nickname name score } }"
  }

  private struct AnyValues: GraphQLSession {
    typealias ResponseData = [String: JSONValue]
    static let query: GraphQLDocument =
      "query any { me { id settings { theme size } best { name } } hits { ... on User { role } } }"
  }

  private struct Inherited: GraphQLSession {
    struct Node: Decodable, Sendable { let id: String }
    struct ResponseData: Decodable, Sendable { let node: Node? }
    static let query: GraphQLDocument = "query inherited { node { id } }"
  }

  @Test func `what a type catches, alternatives, any JSON, and fields of another type are no false alarms`() {
    // The only fault is the number; the nickname is read with `try?`.
    #expect(check.findings(in: Alternatives.self).map(\.path) == ["data.me.score"])
    #expect(check.findings(in: AnyValues.self).map(\.line) == [])
    #expect(check.findings(in: Inherited.self).map(\.line) == [])
  }

  // MARK: Variables

  private struct Variables: GraphQLSession {
    struct Variables: Encodable, Sendable {
      var id: String? = "1"
      var ids: [String]?
      var count: Double = 2
      var day = "2026-11-23T00:00:00Z"
      var price: Int = 5
      var name: [String]?
    }
    typealias ResponseData = [String: JSONValue]
    static let query: GraphQLDocument = """
      query find($id: ID!, $ids: [ID!], $count: Int, $day: Date, $price: Money, $name: String) {
        find(id: $id, ids: $ids, count: $count, day: $day, price: $price, name: $name) { name }
      }
      """
    let variables: Variables
  }

  @Test func `variables are held to their types in Swift, whatever the samples set, and scalars to their samples`() {
    let check = SessionCheck(schema, samples: ["Date": ["2026-11-23"], "Money": ["12.50 EUR"]])
    #expect(
      check.findings(in: Variables.self, variables: [.init()]).map(\.line) == [
        "error variables.day: is Date, such as \"2026-11-23\", but \"2026-11-23T00:00:00Z\" is sent",
        "error variables.price: is Money, such as \"12.50 EUR\", but 5 is sent",
        "error variables.id: is ID! and required, but is not sent if it is nil: it is String?",
        "error variables.count: is Int, but Double is sent",
        "error variables.name: is String, but Array<String> is sent if it is not nil",
      ])
  }

  // MARK: Limits

  private struct Wide: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let me: [String: [String: String?]?] }
    static let query: GraphQLDocument = """
      query wide {
        me {
          b0: best { ...f } b1: best { ...f } b2: best { ...f } b3: best { ...f } b4: best { ...f } b5: best { ...f }
          b6: best { ...f } b7: best { ...f } b8: best { ...f } b9: best { ...f } b10: best { ...f }
          b11: best { ...f } b12: best { ...f } b13: best { ...f } b14: best { ...f } b15: best { ...f }
          b16: best { ...f } b17: best { ...f } b18: best { ...f } b19: best { ...f } b20: best { ...f }
          b21: best { ...f } b22: best { ...f } b23: best { ...f } b24: best { ...f }
        }
      }
      fragment f on User {
        a0: nickname a1: nickname a2: nickname a3: nickname a4: nickname a5: nickname a6: nickname a7: nickname
        a8: nickname a9: nickname a10: nickname a11: nickname a12: nickname a13: nickname a14: nickname
        a15: nickname a16: nickname a17: nickname a18: nickname a19: nickname a20: nickname a21: nickname
        a22: nickname a23: nickname a24: nickname a25: nickname a26: nickname a27: nickname a28: nickname
        a29: nickname a30: nickname a31: nickname a32: nickname a33: nickname a34: nickname a35: nickname
        a36: nickname a37: nickname a38: nickname a39: nickname
      }
      """
  }

  private struct Doubling: GraphQLSession {
    typealias ResponseData = [String: [String: String]]
    static let query: GraphQLDocument = """
      query doubling { me { ...F0 } }
      fragment F0 on User { ...F1 ...F1 }
      fragment F1 on User { ...F2 ...F2 }
      fragment F2 on User { ...F3 ...F3 }
      fragment F3 on User { ...F4 ...F4 }
      fragment F4 on User { ...F5 ...F5 }
      fragment F5 on User { ...F6 ...F6 }
      fragment F6 on User { ...F7 ...F7 }
      fragment F7 on User { ...F8 ...F8 }
      fragment F8 on User { ...F9 ...F9 }
      fragment F9 on User { ...F10 ...F10 }
      fragment F10 on User { ...F11 ...F11 }
      fragment F11 on User { ...F12 ...F12 }
      fragment F12 on User { ...F13 ...F13 }
      fragment F13 on User { ...F14 ...F14 }
      fragment F14 on User { ...F15 ...F15 }
      fragment F15 on User { ...F16 ...F16 }
      fragment F16 on User { ...F17 ...F17 }
      fragment F17 on User { ...F18 ...F18 }
      fragment F18 on User { ...F19 ...F19 }
      fragment F19 on User { ...F20 ...F20 }
      fragment F20 on User { ...F21 ...F21 }
      fragment F21 on User { ...F22 ...F22 }
      fragment F22 on User { ...F23 ...F23 }
      fragment F23 on User { ...F24 ...F24 }
      fragment F24 on User { ...F25 ...F25 }
      fragment F25 on User { ...F26 ...F26 }
      fragment F26 on User { ...F27 ...F27 }
      fragment F27 on User { ...F28 ...F28 }
      fragment F28 on User { ...F29 ...F29 }
      fragment F29 on User { ...F30 ...F30 }
      fragment F30 on User { ...F31 ...F31 }
      fragment F31 on User { ...F32 ...F32 }
      fragment F32 on User { ...F33 ...F33 }
      fragment F33 on User { ...F34 ...F34 }
      fragment F34 on User { ...F35 ...F35 }
      fragment F35 on User { ...F36 ...F36 }
      fragment F36 on User { ...F37 ...F37 }
      fragment F37 on User { ...F38 ...F38 }
      fragment F38 on User { ...F39 ...F39 }
      fragment F39 on User { ...F40 ...F40 }
      fragment F40 on User { name }
      """
  }

  @Test func `V3: objects of many fields, and fragments that spread others twice, are checked`() {
    let report = check.report(on: Wide.self)
    #expect(report.findings == [])
    #expect(report.responses > 2_000)
    #expect(report.responses < SessionCheck.responseLimit)
    #expect(check.findings(in: Doubling.self).map(\.line) == [])
  }
}
