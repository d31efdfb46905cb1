package import Foundation
package import GraphQLClient

/// An issue: flat, where GitHub nests. It decodes what it encodes, so a `DiskCache` can keep it.
package struct Issue: Codable, Hashable, Sendable, Identifiable {
  /// The number, which is unique in its repository.
  package let number: Int
  /// The title.
  package let title: String
  /// Open or closed, or what the server has added since.
  package let state: GraphQLEnum<IssueState>
  /// When it was created.
  package let createdAt: Date
  /// The account that created it; `nil` if that was deleted.
  package let author: String?
  /// The names of its labels, at most ten.
  package let labels: [String]
  /// How many comments it has.
  package let comments: Int
  /// The address of its page; `nil` in a list, which does not fetch it.
  package let url: String?
  /// Its text; `nil` in a list, which does not fetch it.
  package let text: String?

  /// The number.
  package var id: Int { number }

  /// Takes what the fragment selects, and what only a single issue has.
  package init(_ fields: IssueFields, url: String? = nil, text: String? = nil) {
    (number, title, state, createdAt) = (fields.number, fields.title, fields.state, fields.createdAt)
    author = fields.author?.login
    labels = fields.labels?.nodes?.compactMap { $0?.name } ?? []
    comments = fields.comments.totalCount
    (self.url, self.text) = (url, text)
  }
}
