public import Foundation
public import GraphQLClient

/// An issue, as a list shows it: flat, where GitHub nests.
public struct Issue: Encodable, Hashable, Sendable, Identifiable {
  /// The number, which is unique in its repository.
  public let number: Int
  /// The title.
  public let title: String
  /// Open or closed, or what the server has added since.
  public let state: GraphQLEnum<IssueState>
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

  /// Takes what the fragment selects.
  public init(_ fields: IssueFields) {
    (number, title, state, createdAt) = (fields.number, fields.title, fields.state, fields.createdAt)
    author = fields.author?.login
    labels = fields.labels?.nodes?.compactMap { $0?.name } ?? []
    comments = fields.comments.totalCount
  }
}
