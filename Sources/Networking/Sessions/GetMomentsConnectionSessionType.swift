public import Models
public import Streams

/// Gives a user's timeline by cursors, wherever it comes from.
public protocol GetMomentsConnectionSessionType: Sendable {
  /// A cold stream of one part of the timeline; asks anew for each subscriber.
  /// - Parameters:
  ///   - userID: Whose timeline.
  ///   - first: The greatest number of moments; as many as the server likes where it is `nil`.
  ///   - after: Where the part begins: a cursor of a part before, or `nil` for the newest moment.
  func getMoments(userID: String, first: Int?, after: String?) -> Observable<MomentsConnection>
}
