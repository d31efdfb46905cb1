public import GraphQLClient

/// A page of a repository's issues, the newest first.
public struct ListIssues: GraphQLSession {
  /// The variables.
  public struct Variables: Encodable, Hashable, Sendable {
    let owner: String
    let name: String
    let states: [Issue.State]?
    let labels: [String]?
    let first: Int
    let after: String?
  }

  /// The data of a response.
  public struct ResponseData: Decodable, Sendable {
    struct Repository: Decodable, Sendable { let issues: Issues }
    struct Issues: Decodable, Sendable {
      struct PageInfo: Decodable, Sendable {
        let hasNextPage: Bool
        let endCursor: String?
      }
      let totalCount: Int
      let pageInfo: PageInfo
      let nodes: [Issue?]?
    }
    /// Null only beside an error, which fails the session.
    let repository: Repository?
  }

  /// The operation.
  public static let query: GraphQLDocument =
    """
    query listIssues(
      $owner: String!, $name: String!, $states: [IssueState!], $labels: [String!], $first: Int!, $after: String
    ) {
      repository(owner: $owner, name: $name) {
        issues(
          first: $first, after: $after, states: $states, labels: $labels
          orderBy: { field: CREATED_AT, direction: DESC }
        ) {
          totalCount
          pageInfo { hasNextPage endCursor }
          nodes { ...issueFields }
        }
      }
    }
    """ + Issue.fields

  /// The variables of this request.
  public let variables: Variables

  /// Asks for the page after a cursor, or for the first one.
  public init(
    in repository: RepositoryName, state: Issue.State? = nil, labels: [String] = [], first: Int, after: String? = nil
  ) {
    variables = Variables(
      owner: repository.owner, name: repository.name, states: state.map { [$0] }, labels: labels.isEmpty ? nil : labels,
      first: first, after: after)
  }
}

/// An issue with its text.
public struct ShowIssue: GraphQLSession {
  /// The variables.
  public struct Variables: Encodable, Hashable, Sendable {
    let owner: String
    let name: String
    let number: Int
  }

  /// The data of a response.
  public struct ResponseData: Decodable, Sendable {
    struct Repository: Decodable, Sendable { let issue: Details? }
    struct Details: Decodable, Sendable {
      let issue: Issue
      let url: String
      let text: String

      private enum CodingKeys: String, CodingKey { case url, bodyText }

      init(from decoder: any Decoder) throws {
        issue = try Issue(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        url = try container.decode(String.self, forKey: .url)
        text = try container.decode(String.self, forKey: .bodyText)
      }
    }
    let repository: Repository?

    /// The issue, its address and its text; `nil` if there is none, which comes with an error.
    public var details: (issue: Issue, url: String, text: String)? {
      repository?.issue.map { ($0.issue, $0.url, $0.text) }
    }
  }

  /// The operation.
  public static let query: GraphQLDocument =
    """
    query showIssue($owner: String!, $name: String!, $number: Int!) {
      repository(owner: $owner, name: $name) {
        issue(number: $number) { ...issueFields url bodyText }
      }
    }
    """ + Issue.fields

  /// The variables of this request.
  public let variables: Variables

  /// Asks for an issue by its number.
  public init(_ number: Int, in repository: RepositoryName) {
    variables = Variables(owner: repository.owner, name: repository.name, number: number)
  }
}

/// A repository's name: `owner/name`.
public struct RepositoryName: Hashable, Sendable, LosslessStringConvertible {
  /// The user or the organisation.
  public let owner: String
  /// The repository.
  public let name: String

  /// Takes `owner/name`; `nil` for anything else.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    (owner, name) = (parts[0], parts[1])
  }

  /// The name as it was given.
  public var description: String { "\(owner)/\(name)" }
}
