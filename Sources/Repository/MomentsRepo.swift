public import GraphQLClient
public import HTTPClientCore
public import Models
public import Networking
public import Stores
public import Streams

/// Users' timelines, fetched by any types that conform to the session protocols, and cached in a ``Store``.
public struct MomentsRepo: MomentsRepoType {
  private let store: Store<MomentsKey, MomentsDetails>
  private let getMomentsConnectionSession: (any GetMomentsConnectionSessionType)?
  private let postPhotoSession: (any PostPhotoSessionType)?
  private let momentLikedSession: (any MomentLikedSessionType)?
  private let outbox: Outbox<MomentLike, MomentsDetails>?
  /// Sends a like, and shows it at once: through the outbox, if there is one.
  private let sendLike: @Sendable (MomentLike) -> Observable<MomentsDetails>
  private let withLikes: @Sendable () -> Bool

  /// Makes a repository for one account at one endpoint.
  /// - Parameters:
  ///   - storage: Keeps timelines across restarts, as a ``DiskCache`` does; by default, nothing does.
  ///   - configuration: How timelines are cached.
  ///   - getMomentsByUserIDSession: Fetches timelines.
  ///   - getMomentsConnectionSession: Fetches timelines page by page; without one, a pager has one page.
  ///   - updateMomentLikeSession: Sets likes.
  ///   - postPhotoSession: Posts photos; without one, they cannot be posted.
  ///   - momentLikedSession: Tells of likes as they happen; without one, ``followLikes(userID:)`` has nothing to tell.
  ///   - outbox: Keeps likes that could not be sent, and sends them later; without one, they fail.
  ///   - withLikes: Whether likes are requested: must be the same toggle as the sessions'. Timelines with and without
  ///     likes are cached separately.
  public init(
    storage: StoreStorage<MomentsKey, MomentsDetails> = .memory,
    configuration: StoreConfiguration<MomentsDetails> = StoreConfiguration(),
    getMomentsByUserIDSession: some GetMomentsByUserIDSessionType,
    getMomentsConnectionSession: (any GetMomentsConnectionSessionType)? = nil,
    updateMomentLikeSession: some UpdateMomentLikeSessionType,
    postPhotoSession: (any PostPhotoSessionType)? = nil,
    momentLikedSession: (any MomentLikedSessionType)? = nil,
    outbox: Outbox<MomentLike, MomentsDetails>? = nil,
    withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    store = Store(
      .ofPartial { key in
        getMomentsByUserIDSession.getMomentsResponse(userID: key.userID).map { Fetched($0) }
      }, storage: storage, configuration: configuration,
      keyForResponse: { key, details in MomentsKey(userID: details.userDetails.id, withLikes: key.withLikes) })
    self.getMomentsConnectionSession = getMomentsConnectionSession
    self.postPhotoSession = postPhotoSession
    self.momentLikedSession = momentLikedSession
    self.outbox = outbox
    self.withLikes = withLikes
    let change: @Sendable (MomentLike) -> StoreChange<MomentsKey, MomentsDetails, MomentsDetails> = { like in
      .ofAll(keyForResponse: { MomentsKey(of: $0, withLikes: withLikes()) }) { _, details in details.applying(like) }
    }
    if let outbox {
      store.show(outbox, change: change)
      sendLike = { like in outbox.submit(like) }
    } else {
      sendLike = { [store] like in
        store.mutate(change(like)) {
          updateMomentLikeSession.updateLike(like.isLiked, momentID: like.momentID, fromUserID: like.userID)
        }
      }
    }
  }

  /// Makes a repository for one account on the sessions of one client.
  /// - Parameters:
  ///   - sessions: Fetch timelines, set likes and post photos, all with one toggle.
  ///   - storage: Keeps timelines across restarts, as a ``DiskCache`` does; by default, nothing does.
  ///   - configuration: How timelines are cached.
  ///   - outbox: Keeps likes that could not be sent, and sends them later; without one, they fail.
  public init(
    sessions: MomentsSessions, storage: StoreStorage<MomentsKey, MomentsDetails> = .memory,
    configuration: StoreConfiguration<MomentsDetails> = StoreConfiguration(),
    outbox: Outbox<MomentLike, MomentsDetails>? = nil
  ) {
    self.init(
      storage: storage, configuration: configuration,
      getMomentsByUserIDSession: sessions.getMomentsByUserID,
      getMomentsConnectionSession: sessions.getMomentsConnection,
      updateMomentLikeSession: sessions.updateMomentLike, postPhotoSession: sessions.postPhoto,
      momentLikedSession: sessions.momentLiked, outbox: outbox, withLikes: sessions.withLikes)
  }

  /// Hits, misses and size of the cache in memory.
  public var statistics: CacheStatistics { store.statistics }

  /// A live stream of a user's timeline.
  public func momentsDetails(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.values(key(userID)) }
  }

  /// A live stream of snapshots of a user's timeline.
  public func snapshots(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.stream(key(userID), policy) }
  }

  /// A cold stream of one snapshot of a user's timeline, by a policy.
  public func getMoments(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.get(key(userID), policy) }
  }

  /// Fetches a user's timeline, caches it, notifies its watchers, and returns it.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.fresh(key(userID)) }
  }

  /// A pager of a user's moments by cursor.
  public func pager(userID: String, size: Int? = nil) -> Pager<MomentsDetails.Moment, String> {
    let whole = { @Sendable in getMoments(userID: userID).map { Page($0.moments, next: String?.none) } }
    return Pager { [getMomentsConnectionSession] cursor in
      guard let session = getMomentsConnectionSession else { return whole() }
      return session.getMoments(userID: userID, first: size, after: cursor).map {
        Page($0.edges.map(\.node), hasNextPage: $0.pageInfo.hasNextPage, endCursor: $0.pageInfo.endCursor)
      }
    }
  }

  /// Sets or removes a like. The change is shown at once in every timeline with the moment, and then as the server has
  /// it. With an outbox, this fails with ``OutboxError/queued(because:)`` if the like will be sent later; it is shown
  /// all the same. Each accepted like reads all timelines in the source of truth that are not in memory.
  public func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    sendLike(MomentLike(isLiked: isLiked, momentID: momentID, userID: fromUserID))
  }

  /// Posts a photo: a cold stream of the new moment, which is then the first of the user's cached timeline.
  public func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment> {
    .deferred { [store, postPhotoSession] in
      guard let session = postPhotoSession else { return .error(RequestError.cannotPost) }
      let key = key(userID)
      return session.postPhoto(photo, title: title, userID: userID, onProgress: onProgress).map { moment in
        store.receive(key) { $0.adding(moment) }
        return moment
      }
    }
  }

  /// Keeps a user's timeline up to date with likes as they happen.
  public func followLikes(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> {
    .deferred { [momentLikedSession] in
      guard let session = momentLikedSession else { return .never() }
      return store.follow(key(userID), session.momentLiked(userID: userID)) { moment, details in
        details.replacing(moment)
      }
    }
  }

  /// Returns when all earlier writes are in the source of truth, or have failed.
  public func flush() async {
    await store.flush()
  }

  /// Ends the repository because its account ends: what it has cached and what waits in its outbox is removed, and late
  /// responses are dropped. Throws an error of the outbox or the source of truth if something could not be removed;
  /// another call tries again.
  public func signOut() async throws {
    var failure: (any Error)?
    do { try await outbox?.signOut() } catch { failure = error }
    try await store.signOut()
    if let failure { throw failure }
  }

  private func key(_ userID: String) -> MomentsKey {
    MomentsKey(userID: userID, withLikes: withLikes())
  }
}

extension MomentsKey {
  /// The key of the response to a like. Whether it has likes is read from its first moment, since the toggle may have
  /// changed after the request; if it has no moments, the toggle decides.
  fileprivate init(of details: MomentsDetails, withLikes: @autoclosure () -> Bool) {
    self.init(
      userID: details.userDetails.id, withLikes: details.moments.first.map { $0.likes != nil } ?? withLikes())
  }
}
