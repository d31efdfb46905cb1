public import Models
public import Streams

/// Sets whether a user likes a moment, wherever that is kept.
public protocol UpdateMomentLikeSessionType: Sendable {
  /// A cold stream of one timeline, the one that holds the moment; sends anew for each subscriber.
  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>
}
