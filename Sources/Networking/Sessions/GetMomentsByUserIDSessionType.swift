public import Models
public import Streams

/// Fetches a user's timeline, from any source.
public protocol GetMomentsByUserIDSessionType: Sendable {
  /// A cold stream of one complete timeline; each subscriber makes a new request.
  func getMoments(userID: String) -> Observable<MomentsDetails>

  /// A cold stream of one response, which may be a part of the timeline, with errors that say what is missing.
  func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>>
}

extension GetMomentsByUserIDSessionType {
  /// The complete timeline: most sources have no partial responses.
  public func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>> {
    getMoments(userID: userID).map { GraphQLResponse(data: $0) }
  }
}
