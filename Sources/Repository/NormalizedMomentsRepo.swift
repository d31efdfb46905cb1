public import GraphQLClient
public import HTTPClientCore
public import Models
import Networking
public import Stores
public import Streams
public import StrictJSON
public import SystemBase

/// Users' timelines of a GraphQL server, cached in a ``NormalizedStore``: a moment is kept once, and so shows a like at once
/// in every timeline and page that has it, whichever operation has brought either.
///
///     let store = NormalizedStore(client, schema: .moments)
///     let repo: any MomentsRepoType = NormalizedMomentsRepo(store)
///
/// A ``MomentsRepo`` depends on sessions alone, and so also caches what REST or gRPC brings; it keeps timelines whole, and
/// changes each of them for a like.
public struct NormalizedMomentsRepo: MomentsRepoType {
  private let store: NormalizedStore
  private let outbox: LikeOutbox?
  private let withLikes: @Sendable () -> Bool

  /// What keeps likes that could not be sent.
  public typealias LikeOutbox = Outbox<MomentLike, NormalizedResponse<LikedTimeline>>

  /// Makes a repository for one account.
  /// - Parameters:
  ///   - store: Has the account's timelines, in memory or in a folder; its schema is `RecordSchema.moments`, or
  ///     that of the whole server.
  ///   - outbox: Keeps likes that could not be sent, and sends them later; without one, they fail.
  ///   - withLikes: Whether likes are requested; read for each request but that of a like, whose response always has
  ///     them.
  public init(
    _ store: NormalizedStore, outbox: LikeOutbox? = nil, withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    (self.store, self.outbox, self.withLikes) = (store, outbox, withLikes)
    if let outbox {
      store.show(outbox) { like in
        .of(UpdateLike(like), optimisticResponse: [:], updates: like.shown)
      }
    }
  }

  // MARK: Timelines

  /// A live stream of a user's timeline.
  public func momentsDetails(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.values(timeline(of: userID)).map(\.getMomentsDetailsByUserID) }
  }

  /// A live stream of snapshots of a user's timeline.
  public func snapshots(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.stream(timeline(of: userID), policy).map { $0.map(\.getMomentsDetailsByUserID) } }
  }

  /// A cold stream of one snapshot of a user's timeline, by a policy.
  public func getMoments(userID: String, policy: FetchPolicy) -> Observable<Snapshot<MomentsDetails>> {
    .deferred { store.get(timeline(of: userID), policy).map { $0.map(\.getMomentsDetailsByUserID) } }
  }

  /// Fetches a user's timeline, caches it, notifies its watchers, and returns it.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    .deferred { store.fresh(timeline(of: userID)).map(\.getMomentsDetailsByUserID) }
  }

  /// A part of a timeline is a partial response, of which the errors say what is missing.
  private func timeline(of userID: String) -> GetMomentsByUserIDSession.Session {
    GetMomentsByUserIDSession.Session(userID: userID, withLikes: withLikes(), errorPolicy: .all)
  }

  // MARK: Pages

  /// A pager of a user's moments by cursor. What it requests is cached; its rows are those that have come, and those of
  /// ``connection(userID:size:)`` live.
  public func pager(userID: String, size: Int? = nil) -> Pager<MomentsDetails.Moment, String> {
    Pager { cursor in
      .deferred { store.fresh(page(of: userID, size, cursor.map { .after($0) } ?? .first)).map(\.page) }
    }
  }

  /// A live pager of a user's moments: rows change with what any operation brings of them, two pagers of one timeline
  /// share rows and requests, and those of a store in a folder are there after a restart.
  public func connection(userID: String, size: Int? = nil) -> ConnectionPager<MomentsDetails.Moment, String> {
    store.pager(session: { page(of: userID, size, $0) }, page: \.page)
  }

  private func page(
    of userID: String, _ size: Int?, _ position: PagePosition<String>
  ) -> GetMomentsConnectionSession.Session {
    GetMomentsConnectionSession.Session(
      userID: userID, first: size, after: position.after, withLikes: withLikes())
  }

  // MARK: Changes

  /// Sets or removes a like. The change is shown at once wherever the moment is, and then as the server has it. With an
  /// outbox, this fails with ``OutboxError/queued(because:)`` if the like will be sent later; it is shown all the same.
  /// If the timeline is cached already, it gets the moments that it has not, and keeps the others.
  public func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    let like = MomentLike(isLiked: isLiked, momentID: momentID, userID: fromUserID)
    if let outbox { return outbox.submit(like).map { try $0.data.whole } }
    return .deferred {
      store.mutate(UpdateLike(like), optimisticResponse: [:], updates: like.shown)
        .map { try $0.whole }
    }
  }

  /// Posts a photo: a cold stream of the new moment, which is then the first of the user's cached timeline.
  public func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment> {
    .deferred {
      let session = PostPhotoSession.Session(
        photo: photo, title: title, userID: userID, withLikes: withLikes(), onProgress: onProgress)
      return store.mutate(session) { response, edits in
        try edits.update(TimelineIDs(userID: userID)) { $0.add(response.postPhoto.id) }
      }.map(\.postPhoto)
    }
  }

  /// Keeps all that is shown of a user's moments up to date with likes as they happen. Likes that may have been missed
  /// are fetched with the timeline; who shows pages alone refreshes them at `LiveEvent.reconnected`.
  public func followLikes(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> {
    .deferred {
      store.follow(
        MomentLikedSession.Session(userID: userID, withLikes: withLikes()), invalidating: [timeline(of: userID)]
      ).map { event in event.map(\.momentLiked) }
    }
  }

  /// Ends the repository because its account ends: what its store has and what waits in its outbox is removed, and late
  /// responses are dropped. Throws an error of the outbox or the store if something could not be removed; another call
  /// tries again.
  public func signOut() async throws {
    var failure: (any Error)?
    do { try await outbox?.signOut() } catch { failure = error }
    try await store.signOut()
    if let failure { throw failure }
  }
}

extension RecordSchema {
  /// What a ``NormalizedStore`` has to know of the schema of Moments.
  public static let moments = RecordSchema(
    fieldTypes: [
      "Query": ["getMomentsDetailsByUserID": "MomentsDetails", "momentsConnection": "MomentConnection"],
      "Mutation": ["updateMomentLike": "MomentsDetails", "postPhoto": "Moment"],
      "Subscription": ["momentLiked": "Moment"],
      "MomentsDetails": ["userDetails": "UserDetails", "moments": "Moment"],
      "Moment": ["id": "ID", "userDetails": "UserDetails", "likes": "UserDetails"],
      "UserDetails": ["id": "ID"],
      "MomentConnection": ["edges": "MomentEdge", "pageInfo": "PageInfo"],
      "MomentEdge": ["node": "Moment"],
    ],
    paging: ["Query.momentsConnection": .connection])
}

extension Outbox where Mutation == MomentLike, Response == NormalizedResponse<LikedTimeline> {
  /// Opens an account's outbox of likes for a ``NormalizedMomentsRepo``. Likes are idempotent: setting one twice does no
  /// harm.
  /// - Parameters:
  ///   - folder: The folder of the partitions; it should contain nothing else.
  ///   - partition: Identifies the account: a user's id together with an endpoint, for example.
  ///   - client: Sends the likes.
  ///   - schema: That of the store which shows the likes.
  /// - Throws: ``FileError`` if the folder cannot be created or read.
  public convenience init(
    folder: URL, partition: String, client: APIClient, schema: RecordSchema = .moments
  ) throws {
    try self.init(folder: folder, partition: partition, isIdempotent: { _ in true }) { like, key in
      UpdateLike(like, idempotencyKey: key).post(on: client, for: schema)
    }
  }
}

// MARK: - Operations

/// The timeline with the moment whose like was set, as the server has answered; without one, as it is shown until then.
public struct LikedTimeline: JSONSelection, Decodable, Hashable, Sendable {
  /// `nil` while it is what is shown until the server has answered.
  fileprivate let updateMomentLike: MomentsDetails?

  /// Reads the data of a response.
  public init(selecting json: inout JSONReader) throws(JSONError) {
    updateMomentLike = try json.optionalValue("updateMomentLike")
  }

  fileprivate var whole: MomentsDetails {
    get throws {
      guard let updateMomentLike else { throw RequestError(.badResponse, "The response has no timeline.") }
      return updateMomentLike
    }
  }
}

/// The mutation of ``UpdateMomentLikeSession``, of which nothing is to be known in advance. It always requests likes, since
/// its response takes the place of what was shown of them.
private struct UpdateLike: GraphQLSession {
  typealias ResponseData = LikedTimeline
  static let query = UpdateMomentLikeSession.Session.query
  private let session: UpdateMomentLikeSession.Session
  var variables: UpdateMomentLikeSession.Session.Variables { session.variables }
  var idempotencyKey: String? { session.idempotencyKey }

  init(_ like: MomentLike, idempotencyKey: String? = nil) {
    session = UpdateMomentLikeSession.Session(
      isLiked: like.isLiked, momentID: like.momentID, userID: like.userID, idempotencyKey: idempotencyKey)
  }
}

/// Which moments a user's timeline has.
private struct TimelineIDs: GraphQLSession {
  struct Variables: Encodable, Hashable, Sendable { let userID: String }
  struct ResponseData: Codable, Sendable {
    struct Timeline: Codable, Sendable {
      let userDetails: User
      var moments: [Moment]
    }
    struct User: Codable, Sendable { let id: String }
    struct Moment: Codable, Sendable { let id: String }
    var getMomentsDetailsByUserID: Timeline

    func contains(_ id: String) -> Bool { getMomentsDetailsByUserID.moments.contains { $0.id.isSame(as: id) } }

    mutating func add(_ id: String) {
      if !contains(id) { getMomentsDetailsByUserID.moments.insert(Moment(id: id), at: 0) }
    }
  }
  static let query: GraphQLDocument = """
    query timelineIDs($userID: ID!) {
      getMomentsDetailsByUserID(userID: $userID) { userDetails { id } moments { id } }
    }
    """
  let variables: Variables

  init(userID: String) { variables = Variables(userID: userID) }
}

/// Which moments the pages of a user's timeline have, from the first without a gap.
private struct PageIDs: GraphQLSession {
  struct Variables: Encodable, Hashable, Sendable { let userID: String }
  struct ResponseData: Codable, Sendable {
    struct Connection: Codable, Sendable { let edges: [Edge] }
    struct Edge: Codable, Sendable { let node: Moment }
    struct Moment: Codable, Sendable { let id: String }
    let momentsConnection: Connection

    func contains(_ id: String) -> Bool { momentsConnection.edges.contains { $0.node.id.isSame(as: id) } }
  }
  static let query: GraphQLDocument = """
    query pageIDs($userID: ID!) { momentsConnection(userID: $userID) { edges { node { id } } } }
    """
  let variables: Variables

  init(userID: String) { variables = Variables(userID: userID) }
}

private struct Likes: Codable, Sendable {
  struct Liker: Codable, Sendable {
    let id: String
    let avatar: String
  }
  static let fragment: GraphQLDocument = "fragment likes on Moment { isLiked likes { id avatar } }"
  var isLiked: Bool
  var likes: [Liker]
}

private struct Avatar: Codable, Sendable {
  static let fragment: GraphQLDocument = "fragment avatar on UserDetails { avatar }"
  let avatar: String
}

extension MomentLike {
  /// Shows the like until the server has answered, wherever the moment is; then caches the timeline of the answer.
  fileprivate func shown(_ response: LikedTimeline, _ edits: NormalizedEdits) throws {
    if let timeline = response.updateMomentLike { return try edits.cache(timeline) }
    var (isOwn, avatar) = (false, "")
    try edits.update(TimelineIDs(userID: userID)) { isOwn = $0.contains(momentID) }
    try edits.update(PageIDs(userID: userID)) { isOwn = isOwn || $0.contains(momentID) }
    try edits.update(Avatar.self, Avatar.fragment, of: EntityID("UserDetails", id: userID)) { avatar = $0.avatar }
    try edits.update(Likes.self, Likes.fragment, of: EntityID("Moment", id: momentID)) { moment in
      if moment.likes.contains(where: { $0.id.isSame(as: userID) }) == isLiked { return }
      moment.likes.removeAll { $0.id.isSame(as: userID) }
      if isLiked { moment.likes.append(Likes.Liker(id: userID, avatar: avatar)) }
      if isOwn { moment.isLiked = isLiked }
    }
  }
}

extension NormalizedEdits {
  /// Caches which moments a timeline has; what it says of them is there already. What is cached may be newer than the
  /// answer, as after a photo was posted meanwhile, so that nothing is taken out of it.
  fileprivate func cache(_ timeline: MomentsDetails) throws {
    let ids = TimelineIDs(userID: timeline.userDetails.id)
    let isCached = try update(ids) { cached in
      for moment in timeline.moments.reversed() { cached.add(moment.id) }
    }
    if isCached { return }
    let moments = timeline.moments.map { ["id": .string($0.id)] as JSONValue }
    let user: JSONValue = ["id": .string(timeline.userDetails.id)]
    try write(["getMomentsDetailsByUserID": ["userDetails": user, "moments": .array(moments)]], of: ids)
  }
}

extension GetMomentsConnectionSession.Session.ResponseData {
  fileprivate var page: Page<MomentsDetails.Moment, String> {
    Page(
      momentsConnection.edges.map(\.node), hasNextPage: momentsConnection.pageInfo.hasNextPage,
      endCursor: momentsConnection.pageInfo.endCursor)
  }
}
