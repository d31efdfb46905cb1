public import Models
public import Streams

/// Fetches a user's timeline by cursor, from any source.
public protocol GetMomentsConnectionSessionType: Sendable {
  /// A cold stream of one part of the timeline; each subscriber makes a new request.
  /// - Parameters:
  ///   - userID: The user's id.
  ///   - first: The greatest number of moments; `nil` for the server's default.
  ///   - after: A cursor from an earlier part, which this part comes after; `nil` to begin with the newest moment.
  func getMoments(userID: String, first: Int?, after: String?) -> Observable<MomentsConnection>
}
