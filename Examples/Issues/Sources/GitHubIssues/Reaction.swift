import GraphQLClient

/// A reaction of the viewer to an issue, given or taken back: what waits in the outbox.
struct Reaction: Codable, Sendable {
  let issue: String, content: ReactionContent, isGiven: Bool
  var session: SetReactionSession.Session { .init(issue: issue, content: content, isGiven: isGiven) }
}

/// All reactions to an issue, as the fragment `issueReactions` selects them, to be changed.
struct Reactions: Codable, Sendable {
  struct Group: Codable, Sendable {
    let content: GraphQLEnum<ReactionContent>
    var viewerHasReacted: Bool
    var reactors: Reactors
  }

  struct Reactors: Codable, Sendable {
    var totalCount: Int
  }

  private var reactionGroups: [Group]

  /// Whether the viewer has given a reaction; the count follows.
  subscript(content: ReactionContent) -> Bool {
    get { reactionGroups.contains { $0.content == content && $0.viewerHasReacted } }
    set {
      guard let index = reactionGroups.firstIndex(where: { $0.content == content }), self[content] != newValue
      else { return }
      reactionGroups[index].viewerHasReacted = newValue
      reactionGroups[index].reactors.totalCount += newValue ? 1 : -1
    }
  }
}

extension ReactionContent: Decodable {
  /// The reaction as people write it: `thumbs-up`.
  package var name: String { GraphQLEnum.known(self).name }
}

extension GraphQLEnum<ReactionContent> {
  /// The reaction as people write it, also one that is not known yet.
  var name: String { rawValue.lowercased().replacing("_", with: "-") }
}
