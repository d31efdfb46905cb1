public import Models
public import Streams

/// Gives a user's timeline by page numbers, wherever it comes from.
public protocol GetMomentsPageSessionType: Sendable {
  /// A cold stream of one page, of which the first is 1; asks anew for each subscriber.
  func getMomentsPage(userID: String, page: Int) -> Observable<MomentsPage>
}
