public import Models
public import Streams

/// Fetches a user's timeline by page number, from any source.
public protocol GetMomentsPageSessionType: Sendable {
  /// A cold stream of one page, counting from 1; each subscriber makes a new request.
  func getMomentsPage(userID: String, page: Int) -> Observable<MomentsPage>
}
