public import Foundation
public import Models
public import Networking

/// A like that was set or removed, as an ``Outbox`` keeps it.
public struct MomentLike: Codable, Hashable, Sendable {
  /// Whether the moment is liked.
  public let isLiked: Bool

  /// The moment's id.
  public let momentID: String

  /// The id of the user who likes it, or no longer does.
  public let userID: String

  /// Makes a like.
  public init(isLiked: Bool, momentID: String, userID: String) {
    self.isLiked = isLiked
    self.momentID = momentID
    self.userID = userID
  }
}

extension Outbox where Mutation == MomentLike, Response == MomentsDetails {
  /// Opens an account's outbox of likes. Likes are idempotent: setting one twice does no harm.
  /// - Parameters:
  ///   - folder: The folder of the partitions; it should contain nothing else.
  ///   - partition: Identifies the account: a user's id together with an endpoint, for example.
  ///   - lockTimeout: How long to wait for another process that is sending; a minute by default.
  ///   - session: Sends the likes.
  /// - Throws: ``FileError`` if the folder cannot be created or read.
  public convenience init(
    folder: URL, partition: String, lockTimeout: Duration = .seconds(60), session: some UpdateMomentLikeSessionType
  ) throws {
    try self.init(
      folder: folder, partition: partition, lockTimeout: lockTimeout, fileSystem: SystemFileSystem(), session: session)
  }

  package convenience init(
    folder: URL, partition: String, lockTimeout: Duration, fileSystem: some FileSystem,
    session: some UpdateMomentLikeSessionType
  ) throws {
    try self.init(
      folder: folder, partition: partition, lockTimeout: lockTimeout, clock: .system, fileSystem: fileSystem,
      isIdempotent: { _ in true },
      send: { like, key in
        session.updateLike(like.isLiked, momentID: like.momentID, fromUserID: like.userID, idempotencyKey: key)
      })
  }
}
