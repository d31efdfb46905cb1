public import Foundation
public import Models
public import Networking

/// A like that was set or taken back, as an ``Outbox`` keeps it.
public struct MomentLike: Codable, Hashable, Sendable {
  /// Whether the moment is liked.
  public let isLiked: Bool

  /// Which moment.
  public let momentID: String

  /// Who likes it, or no longer does.
  public let userID: String

  /// Makes a like.
  public init(isLiked: Bool, momentID: String, userID: String) {
    self.isLiked = isLiked
    self.momentID = momentID
    self.userID = userID
  }
}

extension Outbox where Mutation == MomentLike, Response == MomentsDetails {
  /// Opens an account's outbox of likes. A like is idempotent: one that is set twice is set.
  /// - Parameters:
  ///   - folder: Where the partitions are; nothing else should be.
  ///   - partition: What tells accounts apart, such as a user's id together with an endpoint.
  ///   - lockTimeout: How long to wait for another process that is sending; a minute unless given.
  ///   - session: Sends the likes.
  /// - Throws: ``FileError`` where the folder cannot be made or read.
  public convenience init(
    folder: URL, partition: String, lockTimeout: Duration = .seconds(60), session: some UpdateMomentLikeSessionType
  ) throws {
    try self.init(
      folder: folder, partition: partition, lockTimeout: lockTimeout, isIdempotent: { _ in true },
      send: { like, key in
        session.updateLike(like.isLiked, momentID: like.momentID, fromUserID: like.userID, idempotencyKey: key)
      })
  }
}
