public import Models
public import Streams

/// Gives the timeline of a user, wherever it comes from.
public protocol GetMomentsByUserIDSessionType: Sendable {
  /// A cold stream of one whole timeline; asks anew for each subscriber.
  func getMoments(userID: String) -> Observable<MomentsDetails>

  /// The same of one answer, which may be a part of the timeline with errors that tell what is missing.
  func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>>
}

extension GetMomentsByUserIDSessionType {
  /// The whole timeline: most ways to get one know of no parts.
  public func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>> {
    getMoments(userID: userID).map { GraphQLResponse(data: $0) }
  }
}
