import GRPCCore
public import Models
import MomentsService
public import Networking
public import Streams
import SwiftProtobuf

/// Gets a user's timeline by gRPC, in the place of ``GetMomentsByUserIDSession``.
public struct GetMomentsByUserIDSessionGRPC: GetMomentsByUserIDSessionType {
  private let service: GRPCService

  /// Calls a service.
  public init(_ service: GRPCService) {
    self.service = service
  }

  /// A cold stream of one timeline. Disposing cancels the call, here and on the server.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    service.call("GetMoments") { client, options in
      try await client.getMoments(.with { $0.userID = userID }, options: options)
    }
  }
}

/// Sets whether a user likes a moment by gRPC, in the place of ``UpdateMomentLikeSession``.
public struct UpdateMomentLikeSessionGRPC: UpdateMomentLikeSessionType {
  private let service: GRPCService

  /// Calls a service.
  public init(_ service: GRPCService) {
    self.service = service
  }

  /// A cold stream of one timeline, the one with the moment.
  public func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID, fromUserID, idempotencyKey: nil)
  }

  /// The same with a key in the call's metadata, by which the server recognises a call that it has carried out.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID, fromUserID, idempotencyKey: idempotencyKey)
  }

  private func updateLike(
    _ isLiked: Bool, _ momentID: String, _ userID: String, idempotencyKey: String?
  ) -> Observable<MomentsDetails> {
    service.call("UpdateLike") { client, options in
      let message = Moments_V1_UpdateLikeRequest.with {
        $0.momentID = momentID
        $0.userID = userID
        $0.isLiked = isLiked
      }
      return try await client.updateLike(
        message, metadata: idempotencyKey.map { ["idempotency-key": "\($0)"] } ?? [:], options: options)
    }
  }
}
