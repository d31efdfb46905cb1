public import Models
public import Streams

/// Sets whether a user likes a moment, wherever that is kept.
public protocol UpdateMomentLikeSessionType: Sendable {
  /// A cold stream of one timeline, the one that holds the moment; sends anew for each subscriber.
  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>

  /// The same under an idempotency key, by which a server knows that it has carried the request out already; for requests
  /// that are sent more than once.
  func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails>
}

extension UpdateMomentLikeSessionType {
  /// Sends without the key: setting a like twice is the same as setting it once.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID: momentID, fromUserID: fromUserID)
  }
}
