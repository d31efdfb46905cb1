public import Models
public import Streams

/// Gives the timeline of a user, wherever it comes from.
public protocol GetMomentsByUserIDSessionType: Sendable {
  /// A cold stream of one timeline; asks anew for each subscriber.
  func getMoments(userID: String) -> Observable<MomentsDetails>
}
