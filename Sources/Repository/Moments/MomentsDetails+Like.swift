import Models

extension MomentsDetails {
  /// The timeline as the server will have it once a user likes one of its moments, or no longer does; `nil` if that
  /// changes nothing: the moment is not in it, its likes were not requested, or it is so already.
  func applying(_ like: MomentLike) -> MomentsDetails? {
    guard let index = moments.firstIndex(where: { $0.id == like.momentID }) else { return nil }
    let moment = moments[index]
    guard let likes = moment.likes, likes.contains(where: { $0.id == like.userID }) != like.isLiked else { return nil }
    let liker = Moment.Liker(id: like.userID, avatar: avatar(of: like.userID))
    var moments = moments
    moments[index] = Moment(
      id: moment.id, userDetails: moment.userDetails, type: moment.type, title: moment.title, url: moment.url,
      photos: moment.photos, createdDate: moment.createdDate,
      isLiked: like.userID == userDetails.id ? like.isLiked : moment.isLiked,
      likes: like.isLiked ? likes + [liker] : likes.filter { $0.id != like.userID })
    return MomentsDetails(userDetails: userDetails, moments: moments)
  }

  /// A user's avatar, if this timeline contains it; empty otherwise.
  private func avatar(of userID: String) -> String {
    if userID == userDetails.id { return userDetails.avatar }
    return moments.lazy.compactMap { $0.likes?.first { $0.id == userID }?.avatar }.first ?? ""
  }
}
