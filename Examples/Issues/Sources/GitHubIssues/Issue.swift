package import Foundation
package import GraphQLClient

/// An issue: flat, where GitHub nests. It decodes what it encodes, so a `DiskCache` can keep it.
package struct Issue: Codable, Hashable, Sendable, Identifiable {
  /// GitHub's id, which is unique everywhere.
  package let id: String
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
  /// How many have reacted to it, by the names of the reactions; without those that nobody has.
  package let reactions: [String: Int]
  /// The names of the viewer's own reactions.
  package let ownReactions: [String]
  /// The address of its page; `nil` in a list, which does not fetch it.
  package let url: String?
  /// Its text; `nil` in a list, which does not fetch it.
  package let text: String?

  /// Takes what the fragment selects, and what only a single issue has.
  package init(_ fields: IssueFields, url: String? = nil, text: String? = nil) {
    (id, number, title) = (fields.id, fields.number, fields.title)
    (state, createdAt) = (fields.state, fields.createdAt)
    author = fields.author?.login
    labels = fields.labels?.nodes?.compactMap { $0?.name } ?? []
    comments = fields.comments.totalCount
    let groups = (fields.issueReactions.reactionGroups ?? []).filter { $0.reactors.totalCount > 0 }
    reactions = Dictionary(groups.map { ($0.content.name, $0.reactors.totalCount) }) { first, _ in first }
    ownReactions = groups.filter(\.viewerHasReacted).map(\.content.name)
    (self.url, self.text) = (url, text)
  }
}
