public import GRDB
public import HTTPClientCore
public import Models
public import Networking
public import Streams

extension RequestError.Kind {
  /// A row that the request is about is not in its table.
  public static let noSuchRow = Self("no such row")
}

/// Reads a user's timeline from the tables of ``MomentsTables``, in the place of a request.
public struct GetMomentsByUserIDSessionGRDB: GetMomentsByUserIDSessionType {
  private let database: any DatabaseReader

  /// Reads from a database.
  public init(_ database: some DatabaseReader) {
    self.database = database
  }

  /// A cold stream of one timeline, read in one transaction. Disposing interrupts it.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    .async { [database] in
      try await requestErrors { try await database.read { try MomentsTables.timeline(of: userID, $0) } }
    }
  }

  /// A cold stream of the timeline as it is, and as it becomes by each transaction; `nil` while there is no such user.
  public func observeMoments(userID: String) -> Observable<MomentsDetails?> {
    ValueObservation.tracking { db in
      do { return try MomentsTables.timeline(of: userID, db) } catch let error as RequestError
        where error.kind == .noSuchRow
      {
        // It may come. An error would end the observation.
        return nil
      }
    }
    .removeDuplicates().observable(in: database)
  }
}

/// Inserts or deletes a row of likes, in the place of a mutation.
public struct UpdateMomentLikeSessionGRDB: UpdateMomentLikeSessionType {
  private let database: any DatabaseWriter

  /// Writes to a database.
  public init(_ database: some DatabaseWriter) {
    self.database = database
  }

  /// A cold stream of one timeline, the one with the moment, as the transaction left it.
  public func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    .async { [database] in
      try await requestErrors {
        try await database.write { db in
          let owner = try MomentsTables.owner(ofMoment: momentID, db)
          try MomentsTables.setLike(isLiked, of: momentID, by: fromUserID, db)
          return try MomentsTables.timeline(of: owner, db)
        }
      }
    }
  }
}

/// Tells of changes in the tables, in the place of a subscription, so that `MomentsRepo.followLikes(userID:)` keeps
/// timelines up to date.
public struct MomentLikedSessionGRDB: MomentLikedSessionType {
  private let getMoments: GetMomentsByUserIDSessionGRDB

  /// Observes a database.
  public init(_ database: some DatabaseReader) {
    getMoments = GetMomentsByUserIDSessionGRDB(database)
  }

  /// A cold stream of the moments of the timeline that a transaction changed, each as it is then. A transaction that did
  /// more, such as adding a moment, is sent as a gap, so that the repository reads the timeline again.
  public func momentLiked(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> {
    getMoments.observeMoments(userID: userID)
      .scan((nil, nil) as (MomentsDetails??, MomentsDetails??)) { ($0.1, $1) }
      .concatMap { previous, current -> Observable<LiveEvent<MomentsDetails.Moment>> in
        guard let previous else { return .just(.connected) }
        // The user has come, or gone.
        guard let previous, let current = current ?? nil else { return .just(.reconnected) }
        guard current.userDetails == previous.userDetails,
          current.moments.map(\.id) == previous.moments.map(\.id)
        else { return .just(.reconnected) }
        let changed = zip(previous.moments, current.moments).filter { $0 != $1 }
        return .from(changed.map { .value($1) })
      }
  }
}

/// The work's result; an error of the database becomes a request's.
private func requestErrors<Result>(_ work: () async throws -> Result) async throws -> Result {
  do {
    return try await work()
  } catch {
    throw RequestError(wrapping: error)
  }
}
