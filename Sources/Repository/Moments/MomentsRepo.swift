public import Models
public import Networking
public import Streams

/// The timelines of users, from any sessions that keep the protocols, kept in a ``Store``.
public struct MomentsRepo: MomentsRepoType {
  private let store: Store<MomentsKey, MomentsDetails>
  private let updateMomentLikeSession: any UpdateMomentLikeSessionType
  private let withLikes: @Sendable () -> Bool

  /// Makes a repository for one account at one endpoint.
  /// - Parameters:
  ///   - configuration: How timelines are kept.
  ///   - sourceOfTruth: What keeps them beyond the life of the process, such as a ``DiskCache``; nothing unless given.
  ///   - getMomentsByUserIDSession: Gives timelines.
  ///   - updateMomentLikeSession: Sets likes.
  ///   - withLikes: What the sessions are asked with; answers with likes and without are kept apart.
  public init(
    configuration: StoreConfiguration<MomentsDetails> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<MomentsKey, MomentsDetails>)? = nil,
    getMomentsByUserIDSession: some GetMomentsByUserIDSessionType,
    updateMomentLikeSession: some UpdateMomentLikeSessionType,
    withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    store = Store(
      partialFetch: { key in
        getMomentsByUserIDSession.getMomentsResponse(userID: key.userID).map { try Fetched($0) }
      },
      configuration: configuration, sourceOfTruth: sourceOfTruth,
      keyOfAnswer: { key, details in MomentsKey(userID: details.userDetails.id, withLikes: key.withLikes) })
    self.updateMomentLikeSession = updateMomentLikeSession
    self.withLikes = withLikes
  }

  /// What the cache in memory has done so far.
  public var statistics: CacheStatistics { store.statistics }

  /// The live stream of a user's timeline.
  public func momentsDetails(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.values(key(userID)) }
  }

  /// The live stream of what is known of a user's timeline.
  public func snapshots(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.stream(key(userID), policy) }
  }

  /// One answer for a user's timeline, by a policy.
  public func getMoments(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.get(key(userID), policy) }
  }

  /// Fetches, keeps, tells and gives a user's timeline.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.fresh(key(userID)) }
  }

  /// Sets a like: shown at once in every timeline that holds the moment, then as the server has it.
  public func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    store.mutateAll(
      optimistic: { _, details in details.settingLike(isLiked, momentID: momentID, userID: fromUserID) },
      send: { updateMomentLikeSession.updateLike(isLiked, momentID: momentID, fromUserID: fromUserID) },
      keyOfAnswer: { key($0.userDetails.id) })
  }

  /// Ends the repository, as at a sign-out: what it has kept is removed, and late answers are dropped.
  public func close() {
    store.close()
  }

  private func key(_ userID: String) -> MomentsKey {
    MomentsKey(userID: userID, withLikes: withLikes())
  }
}
