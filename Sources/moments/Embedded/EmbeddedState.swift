import HTTP
import Models

/// Users, their timelines, and who likes what: the data of the embedded backend.
struct EmbeddedState: Sendable {
  /// A moment as posted, and the ids of the users who like it, oldest like first.
  struct Entry: Sendable {
    let post: MomentsDetails.Moment
    var likerIDs: [String]
  }

  private let users: [String: MomentsDetails.UserDetails]
  private var timelines: [String: [Entry]]

  /// Makes the data from the users and the timeline of each, newest moment first.
  init(users: [MomentsDetails.UserDetails], timelines: [String: [Entry]]) {
    self.users = Dictionary(users.map { ($0.id, $0) }) { first, _ in first }
    self.timelines = timelines
  }

  /// The timeline of a user, with or without its likes.
  func details(userID: String, withLikes: Bool) throws(RequestError) -> MomentsDetails {
    let owner = try user(userID)
    let moments = timelines[userID, default: []].map { moment($0, ownerID: userID, withLikes: withLikes) }
    return MomentsDetails(userDetails: owner, moments: moments)
  }

  /// Sets whether a user likes a moment, and returns the id of the timeline's owner; repeating it changes nothing.
  mutating func setLike(_ isLiked: Bool, momentID: String, userID: String) throws(RequestError) -> String {
    _ = try user(userID)
    for (ownerID, entries) in timelines {
      guard let index = entries.firstIndex(where: { $0.post.id == momentID }) else { continue }
      let likerIDs = entries[index].likerIDs
      if isLiked != likerIDs.contains(userID) {
        timelines[ownerID]?[index].likerIDs = isLiked ? likerIDs + [userID] : likerIDs.filter { $0 != userID }
      }
      return ownerID
    }
    throw RequestError(
      .notFound, "The embedded backend has no moment with the id '\(momentID)'; 'moments timeline' shows the ids.")
  }

  private func user(_ id: String) throws(RequestError) -> MomentsDetails.UserDetails {
    if let user = users[id] { return user }
    let ids = users.keys.sorted().joined(separator: ", ")
    throw RequestError(.notFound, "The embedded backend has no user with the id '\(id)', but these: \(ids).")
  }

  private func moment(_ entry: Entry, ownerID: String, withLikes: Bool) -> MomentsDetails.Moment {
    let post = entry.post
    let likers = entry.likerIDs.compactMap { users[$0] }
      .map { MomentsDetails.Moment.Liker(id: $0.id, avatar: $0.avatar) }
    return MomentsDetails.Moment(
      id: post.id, userDetails: post.userDetails, type: post.type, title: post.title, url: post.url,
      photos: post.photos, createdDate: post.createdDate,
      isLiked: withLikes ? entry.likerIDs.contains(ownerID) : nil, likes: withLikes ? likers : nil)
  }
}

extension RequestError.Kind {
  /// There is no user, or no moment, with the id.
  static let notFound = RequestError.Kind("not found")
}
