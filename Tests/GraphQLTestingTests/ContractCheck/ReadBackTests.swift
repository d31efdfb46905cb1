import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import Testing

/// Values that a cache cannot read back.
@Suite struct ReadBackTests {
  private let check: SessionCheck

  init() throws {
    check = SessionCheck(
      try Schema(
        parsing: """
          type Query { issue: Issue! issues: [Issue!]! }
          type Issue { number: Int! title: String! state: State! author: Author createdAt: String! }
          type Author { login: String! }
          enum State { OPEN CLOSED }
          """))
  }

  /// Flat, where the server nests: it reads the server's shape, and writes its own.
  private struct Issue: Codable, Sendable {
    let number: Int, author: String?

    private enum ServerKeys: CodingKey { case number, author, login }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: ServerKeys.self)
      number = try container.decode(Int.self, forKey: .number)
      let isNull = try container.decodeNil(forKey: .author)
      author =
        isNull
        ? nil
        : try container.nestedContainer(keyedBy: ServerKeys.self, forKey: .author)
          .decode(String.self, forKey: .login)
    }
  }

  private struct ListIssues: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let issues: [Issue] }
    static let query: GraphQLDocument = "query listIssues { issues { number author { login } } }"
  }

  @Test func `V2: a type that cannot read what it writes is found, once, with a response that shows it`() throws {
    let findings = check.findings(in: ListIssues.self)
    #expect(findings.map(\.path) == ["data.issues[]"])
    let finding = try #require(findings.first)
    #expect(finding.severity == .warning)
    #expect(finding.message.hasPrefix("Issue is Codable, and no cache can read back what it encodes: "))
    #expect(finding.witness?.contains(#""issues": [{"#) == true, "\(finding)")
  }

  private struct Lossy: Codable, Equatable, Sendable {
    let number: Int, title: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      number = try container.decode(Int.self, forKey: .number)
      title = try container.decode(String.self, forKey: .title) + "!"
    }
  }

  private struct ShowIssue: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let issue: Lossy }
    static let query: GraphQLDocument = "query showIssue { issue { number title } }"
  }

  @Test func `a value that becomes another one is found, where its type can compare`() {
    let findings = check.findings(in: ShowIssue.self)
    #expect(findings.map(\.path) == ["data.issue"])
    #expect(findings.first?.message.hasSuffix("it becomes another value") == true)
  }

  private struct Right: Codable, Hashable, Sendable {
    struct Author: Codable, Hashable, Sendable { let login: String }
    enum State: String, Codable, Sendable { case open = "OPEN", closed = "CLOSED" }

    let number: Int, state: GraphQLEnum<State>, author: Author?, createdAt: String
  }

  private struct RightIssues: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let issues: [Right] }
    static let query: GraphQLDocument = "query rightIssues { issues { number state author { login } createdAt } }"
  }

  @Test func `synthesized types are read back, whatever the response has`() {
    #expect(check.findings(in: RightIssues.self) == [])
  }
}
