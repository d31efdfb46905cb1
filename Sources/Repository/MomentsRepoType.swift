public import Models
public import Streams

/// The timelines of users: what user interfaces and commands depend on.
public protocol MomentsRepoType: Sendable {
  /// The live stream of a user's timeline: the latest at once, where one is known, then each new one. It asks no
  /// server, never fails, and does not end by itself.
  func momentsDetails(userID: String) -> Observable<MomentsDetails>

  /// A cold stream of one timeline: fetches it, keeps it, tells who watches it, then gives it. It fails where
  /// any of that does.
  func getMoments(userID: String) -> Observable<MomentsDetails>

  /// A cold stream of one timeline, the one that holds the moment: sets whether a user likes it, then keeps, tells and
  /// gives the answer as ``getMoments(userID:)`` does.
  func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>
}
