public import Models
public import Streams

/// Sets whether a user likes a moment, with any backend.
public protocol UpdateMomentLikeSessionType: Sendable {
  /// A cold stream of one timeline, the one with the moment; each subscriber makes a new request.
  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>

  /// The same with an idempotency key, by which a server recognises a request that it has already carried out; for
  /// requests that may be sent more than once.
  func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails>
}

extension UpdateMomentLikeSessionType {
  /// Sends the request without the key: setting a like twice does no harm.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID: momentID, fromUserID: fromUserID)
  }
}
