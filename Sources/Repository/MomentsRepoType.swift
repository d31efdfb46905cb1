public import GraphQLClient
public import HTTPClientCore
public import Models
@_exported public import Stores
public import Streams

/// Users' timelines: what user interfaces and commands depend on.
public protocol MomentsRepoType: Sendable {
  /// A live stream of a user's timeline: the latest at once, if one is cached, then each new one. It makes no request,
  /// never fails, and does not end by itself.
  func momentsDetails(userID: String) -> Observable<MomentsDetails>

  /// A live stream of snapshots of a user's timeline, by a policy: values with their source and age, requests in
  /// flight, and failures. It never fails, and does not end by itself.
  func snapshots(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>>

  /// A cold stream of one snapshot, by a policy; it fails if there is no value.
  func getMoments(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>>

  /// A cold stream of one timeline: fetches it, caches it, notifies its watchers, then returns it. It fails if the
  /// request does; equal requests in flight are joined into one.
  func getMoments(userID: String) -> Observable<MomentsDetails>

  /// A pager of a user's moments, the newest first, with at most `size` on a page, or as many as the server chooses.
  /// Nothing is requested yet. Its rows are those of the pages: watchers of ``momentsDetails(userID:)`` see them only
  /// with the next timeline, and a like changes a row if ``Pager/edit(_:)`` does.
  func pager(userID: String, size: Int?) -> Pager<MomentsDetails.Moment, String>

  /// Sets whether a user likes a moment: a cold stream of one timeline, the one with the moment, which is cached and
  /// passed on as in ``getMoments(userID:)``. Watchers of timelines with the moment see the change at once, and see it
  /// undone if the request fails.
  func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>

  /// Posts a photo: a cold stream of one moment, the new one, which watchers of the user's timeline see once the server
  /// has it. Each subscriber posts it again. `onProgress` gets the progress of the exchange, one call at a time.
  func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment>

  /// Keeps a user's timeline up to date for as long as it is subscribed to: likes of anybody are in
  /// ``momentsDetails(userID:)`` and in snapshots as they happen. It sends them, too, and what becomes of the
  /// connection.
  ///
  /// Likes that may have been missed, because there was no connection, are fetched: each time there is one, the
  /// timeline is requested again for those who watch it by a policy that uses the network.
  func followLikes(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>>
}

extension MomentsRepoType {
  /// Fails with `invalidRequest`: for sources that take no photos.
  public func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment> { .error(RequestError.cannotPost) }

  /// Nothing, for ever: for sources that cannot tell.
  public func followLikes(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> { .never() }

  /// A pager with one page, the whole timeline: for sources without pages.
  public func pager(userID: String, size: Int?) -> Pager<MomentsDetails.Moment, String> {
    Pager { _ in getMoments(userID: userID).map { Page($0.moments, next: nil) } }
  }
}

extension RequestError {
  static let cannotPost = RequestError(
    .invalidRequest, "This repository has no session that posts photos: give it one.", reached: .never)
}
