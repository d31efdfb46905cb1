public import Models
public import Networking
public import Streams

/// Users' timelines, fetched by any types that conform to the session protocols, and kept in a ``Store``.
public struct MomentsRepo: MomentsRepoType {
  private let store: Store<MomentsKey, MomentsDetails>
  private let updateMomentLikeSession: any UpdateMomentLikeSessionType
  private let outbox: Outbox<MomentLike, MomentsDetails>?
  private let withLikes: @Sendable () -> Bool
  private let onStorageError: @Sendable (any Error) -> Void

  /// Makes a repository for one account at one endpoint.
  /// - Parameters:
  ///   - configuration: How timelines are kept.
  ///   - sourceOfTruth: What keeps them beyond the life of the process, such as a ``DiskCache``; nothing unless given.
  ///   - getMomentsByUserIDSession: Gives timelines.
  ///   - updateMomentLikeSession: Sets likes.
  ///   - outbox: Keeps likes that could not be sent, and sends them later; without it, they fail.
  ///   - withLikes: Whether to ask for likes: must be the toggle that the sessions have. Timelines with and without
  ///     likes are kept apart.
  public init(
    configuration: StoreConfiguration<MomentsDetails> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<MomentsKey, MomentsDetails>)? = nil,
    getMomentsByUserIDSession: some GetMomentsByUserIDSessionType,
    updateMomentLikeSession: some UpdateMomentLikeSessionType,
    outbox: Outbox<MomentLike, MomentsDetails>? = nil,
    withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    store = Store(
      partialFetch: { key in
        getMomentsByUserIDSession.getMomentsResponse(userID: key.userID).map { try Fetched($0) }
      },
      configuration: configuration, sourceOfTruth: sourceOfTruth,
      keyForResponse: { key, details in MomentsKey(userID: details.userDetails.id, withLikes: key.withLikes) })
    self.updateMomentLikeSession = updateMomentLikeSession
    self.outbox = outbox
    self.withLikes = withLikes
    onStorageError = configuration.onStorageError
    guard let outbox else { return }
    store.show(
      outbox, change: { like, _, details in details.applying(like) },
      keyForResponse: { MomentsKey(of: $0, withLikes: withLikes()) })
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

  /// Fetches a user's timeline, keeps it, notifies its watchers, and gives it.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.fresh(key(userID)) }
  }

  /// Sets a like: shown at once in every timeline that holds the moment, then as the server has it. With an outbox it
  /// fails with ``OutboxError/queued(because:)`` where the like is to be sent later; it is shown all the same.
  public func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    let like = MomentLike(isLiked: isLiked, momentID: momentID, userID: fromUserID)
    if let outbox { return outbox.submit(like) }
    return store.mutateAll(
      optimistic: { _, details in details.applying(like) },
      send: { updateMomentLikeSession.updateLike(isLiked, momentID: momentID, fromUserID: fromUserID) },
      keyForResponse: { MomentsKey(of: $0, withLikes: withLikes()) })
  }

  /// Returns when what was kept before is in the source of truth, or has failed to get there.
  public func flush() async {
    await store.flush()
  }

  /// Ends the repository because its account ends: what it has kept, and what waits in its outbox, is removed, and late
  /// answers are dropped.
  public func signOut() {
    do { try outbox?.signOut() } catch { onStorageError(error) }
    store.signOut()
  }

  private func key(_ userID: String) -> MomentsKey {
    MomentsKey(userID: userID, withLikes: withLikes())
  }
}

extension MomentsKey {
  /// What an answer to a like depends on. Whether likes were asked for is seen in it: that may have changed by the time it
  /// comes. It is as given where there is no moment to see it in.
  fileprivate init(of details: MomentsDetails, withLikes: @autoclosure () -> Bool) {
    self.init(
      userID: details.userDetails.id, withLikes: details.moments.first.map { $0.likes != nil } ?? withLikes())
  }
}
