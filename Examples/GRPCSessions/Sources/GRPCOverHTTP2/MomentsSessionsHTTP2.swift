import HTTPClientCore
public import Models
import MomentsService
public import Networking
public import Streams
import SwiftProtobuf

/// Gets a user's timeline by gRPC through a transport, in the place of ``GetMomentsByUserIDSession``.
public struct GetMomentsByUserIDSessionHTTP2: GetMomentsByUserIDSessionType {
  private let service: UnaryService

  /// Calls a service.
  public init(_ service: UnaryService) {
    self.service = service
  }

  /// A cold stream of one timeline. Disposing cancels the call, here and on the server.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    service.call("GetMoments", Moments_V1_GetMomentsRequest.with { $0.userID = userID }) { $0.isReplayable = true }
  }
}

/// Sets whether a user likes a moment by gRPC through a transport, in the place of ``UpdateMomentLikeSession``.
public struct UpdateMomentLikeSessionHTTP2: UpdateMomentLikeSessionType {
  private let service: UnaryService

  /// Calls a service.
  public init(_ service: UnaryService) {
    self.service = service
  }

  /// A cold stream of one timeline, the one with the moment.
  public func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    service.call("UpdateLike", request(isLiked, momentID, fromUserID))
  }

  /// The same with a key in the call's metadata, by which the server recognises a call that it has carried out; so it may be
  /// sent again.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    service.call("UpdateLike", request(isLiked, momentID, fromUserID)) { try $0.setIdempotencyKey(idempotencyKey) }
  }

  private func request(_ isLiked: Bool, _ momentID: String, _ userID: String) -> Moments_V1_UpdateLikeRequest {
    .with {
      $0.momentID = momentID
      $0.userID = userID
      $0.isLiked = isLiked
    }
  }
}
