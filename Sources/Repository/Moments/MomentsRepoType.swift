public import Models
public import Streams

/// Users' timelines: what user interfaces and commands depend on.
public protocol MomentsRepoType: Sendable {
  /// A live stream of a user's timeline: the latest at once, if one is cached, then each new one. It makes no request,
  /// never fails, and does not end by itself.
  func momentsDetails(userID: String) -> Observable<MomentsDetails>

  /// A live stream of snapshots of a user's timeline, by a policy: values with their source and age, requests under
  /// way, and failures. It never fails, and does not end by itself.
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
}

extension MomentsRepoType {
  /// A pager with one page, the whole timeline: for sources without pages.
  public func pager(userID: String, size: Int?) -> Pager<MomentsDetails.Moment, String> {
    Pager { _ in getMoments(userID: userID).map { Page($0.moments, next: nil) } }
  }
}
