public import Models
public import Streams

/// The timelines of users: what user interfaces and commands depend on.
public protocol MomentsRepoType: Sendable {
  /// The live stream of a user's timeline: the latest at once, where one is known, then each new one. It asks no
  /// server, never fails, and does not end by itself.
  func momentsDetails(userID: String) -> Observable<MomentsDetails>

  /// The live stream of what is known of a user's timeline, by a policy: values with their source and age, requests
  /// under way, and failures. It never fails, and does not end by itself.
  func snapshots(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>>

  /// A cold stream of one answer by a policy; it fails where there is none.
  func getMoments(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>>

  /// A cold stream of one timeline: fetches it, keeps it, notifies its watchers, then gives it. It fails where the
  /// request does; equal requests under way are one.
  func getMoments(userID: String) -> Observable<MomentsDetails>

  /// A cold stream of one timeline, the one that holds the moment: sets whether a user likes it, then keeps, tells and
  /// gives the answer as ``getMoments(userID:)`` does. Who watches a timeline with the moment sees the like at once,
  /// and sees it go where the request fails.
  func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>
}
