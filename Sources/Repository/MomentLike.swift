public import Models
public import Networking
public import Stores
public import SystemBase

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
      folder: folder, partition: partition, lockTimeout: lockTimeout, isIdempotent: { _ in true },
      send: { like, key in
        session.updateLike(like.isLiked, momentID: like.momentID, fromUserID: like.userID, idempotencyKey: key)
      })
  }
}

extension MomentsDetails {
  /// The timeline as the server will have it once a user likes one of its moments, or no longer does; `nil` if that
  /// changes nothing: the moment is not in it, its likes were not requested, or it is so already.
  func applying(_ like: MomentLike) -> MomentsDetails? {
    guard let index = moments.firstIndex(where: { $0.id.isSame(as: like.momentID) }) else { return nil }
    let moment = moments[index]
    guard let likes = moment.likes else { return nil }
    if likes.contains(where: { $0.id.isSame(as: like.userID) }) == like.isLiked { return nil }
    let liker = Moment.Liker(id: like.userID, avatar: avatar(of: like.userID))
    var moments = moments
    moments[index] = Moment(
      id: moment.id, userDetails: moment.userDetails, type: moment.type, title: moment.title, url: moment.url,
      photos: moment.photos, createdDate: moment.createdDate,
      isLiked: like.userID.isSame(as: userDetails.id) ? like.isLiked : moment.isLiked,
      likes: like.isLiked ? likes + [liker] : likes.filter { !$0.id.isSame(as: like.userID) })
    return MomentsDetails(userDetails: userDetails, moments: moments)
  }

  /// The timeline with a moment as the server has it now; `nil` if that changes nothing, because the moment is not in it
  /// or is the same.
  func replacing(_ moment: Moment) -> MomentsDetails? {
    guard let index = moments.firstIndex(where: { $0.id.isSame(as: moment.id) }), moments[index] != moment else {
      return nil
    }
    var moments = moments
    moments[index] = moment
    return MomentsDetails(userDetails: userDetails, moments: moments)
  }

  /// The timeline with a new moment at its top; `nil` if it has the moment already.
  func adding(_ moment: Moment) -> MomentsDetails? {
    if moments.contains(where: { $0.id.isSame(as: moment.id) }) { return nil }
    return MomentsDetails(userDetails: userDetails, moments: [moment] + moments)
  }

  /// A user's avatar, if this timeline contains it; empty otherwise.
  private func avatar(of userID: String) -> String {
    if userID.isSame(as: userDetails.id) { return userDetails.avatar }
    return moments.lazy.compactMap { $0.likes?.first { $0.id.isSame(as: userID) }?.avatar }.first ?? ""
  }
}

extension String {
  /// Compares ids by bytes, as ``MomentsKey`` does.
  func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
