public import Foundation
public import GraphQLClient

/// An issue, as a list shows it.
public struct Issue: Codable, Hashable, Sendable, Identifiable {
  /// Whether work on it is to be done.
  public enum State: String, Codable, Hashable, Sendable, CaseIterable {
    case open = "OPEN"
    case closed = "CLOSED"
  }

  /// The number, which is unique in its repository.
  public let number: Int
  /// The title.
  public let title: String
  /// Open or closed, or what the server has added since.
  public let state: GraphQLEnum<State>
  /// When it was created.
  public let createdAt: Date
  /// The account that created it; `nil` if that was deleted.
  public let author: String?
  /// The names of its labels, at most ten.
  public let labels: [String]
  /// How many comments it has.
  public let comments: Int

  /// The number.
  public var id: Int { number }

  /// The fields that a document selects for ``init(from:)``.
  static let fields: GraphQLDocument = """
    fragment issueFields on Issue {
      number
      title
      state
      createdAt
      author { login }
      labels(first: 10) { nodes { name } }
      comments { totalCount }
    }
    """

  /// Reads what GitHub sends: it nests what this type has flat.
  public init(from decoder: any Decoder) throws {
    struct Author: Decodable { let login: String }
    struct Label: Decodable { let name: String }
    struct Labels: Decodable { let nodes: [Label?]? }
    struct Comments: Decodable { let totalCount: Int }

    let container = try decoder.container(keyedBy: CodingKeys.self)
    number = try container.decode(Int.self, forKey: .number)
    title = try container.decode(String.self, forKey: .title)
    state = try container.decode(GraphQLEnum<State>.self, forKey: .state)
    createdAt = try container.decode(Date.self, forKey: .createdAt)
    author = try container.decodeIfPresent(Author.self, forKey: .author)?.login
    labels = try container.decodeIfPresent(Labels.self, forKey: .labels)?.nodes?.compactMap { $0?.name } ?? []
    comments = try container.decode(Comments.self, forKey: .comments).totalCount
  }
}
