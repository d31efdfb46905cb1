@_exported public import GraphQLClient
public import Streams

/// All sessions of Moments on one client, with one toggle for likes. Each can be replaced by another type that conforms
/// to its protocol, or by a session on a closure:
///
///     var sessions = MomentsSessions(client: client)
///     sessions.updateMomentLike = UpdateMomentLikeSession(sessionHandler: { _ in .error(RequestError(…)) })
///     let repo = MomentsRepo(sessions: sessions)
public struct MomentsSessions: Sendable {
  /// Fetches whole timelines.
  public var getMomentsByUserID: any GetMomentsByUserIDSessionType

  /// Fetches timelines by cursor.
  public var getMomentsConnection: any GetMomentsConnectionSessionType

  /// Sets likes.
  public var updateMomentLike: any UpdateMomentLikeSessionType

  /// Posts photos.
  public var postPhoto: any PostPhotoSessionType

  /// Tells of likes as they happen.
  public var momentLiked: any MomentLikedSessionType

  /// Whether likes are requested; read for each request.
  public let withLikes: @Sendable () -> Bool

  /// Makes the sessions of a GraphQL server.
  public init(client: APIClient, withLikes: @escaping @Sendable () -> Bool = { true }) {
    getMomentsByUserID = GetMomentsByUserIDSession(client: client, withLikes: withLikes)
    getMomentsConnection = GetMomentsConnectionSession(client: client, withLikes: withLikes)
    updateMomentLike = UpdateMomentLikeSession(client: client, withLikes: withLikes)
    postPhoto = PostPhotoSession(client: client, withLikes: withLikes)
    momentLiked = MomentLikedSession(client: client, withLikes: withLikes)
    self.withLikes = withLikes
  }
}

/// A session of Moments on a GraphQL server: it makes requests as values, and a closure sends them.
public protocol MomentsSession: Sendable {
  /// The request.
  associatedtype Session: GraphQLSession

  /// Calls a closure instead of a client, for tests: it gets the request as a value, and returns the response. The
  /// toggle is read for each request, and says whether to request likes.
  init(
    sessionHandler: @escaping @Sendable (Session) -> Observable<GraphQLResponse<Session.ResponseData>>,
    withLikes: @escaping @Sendable () -> Bool)
}

extension MomentsSession {
  /// The response of the server.
  public typealias Response = GraphQLResponse<Session.ResponseData>

  /// Sends requests through a client. The toggle is read for each request, and says whether to request likes.
  public init(client: APIClient, withLikes: @escaping @Sendable () -> Bool = { true }) {
    self.init(sessionHandler: { $0.post(on: client) }, withLikes: withLikes)
  }

  /// Calls a closure instead of a client, for tests: it gets the request as a value, and returns the response. Likes
  /// are requested.
  public init(sessionHandler: @escaping @Sendable (Session) -> Observable<Response>) {
    self.init(sessionHandler: sessionHandler, withLikes: { true })
  }
}

extension GraphQLDocument {
  /// The fields of `MomentsDetails`, without likes if the variable `withLikes` is false.
  static let momentsDetailsFields: GraphQLDocument =
    """
    fragment momentsDetailsFields on MomentsDetails {
      userDetails { id name avatar backgroundImage }
      moments { ...momentFields }
    }
    """ + .momentFields

  /// The fields of `Moment`, without likes if the variable `withLikes` is false.
  static let momentFields: GraphQLDocument = """
    fragment momentFields on Moment {
      id
      userDetails { name avatar }
      type
      title
      url
      photos
      createdDate
      isLiked @include(if: $withLikes)
      likes @include(if: $withLikes) { id avatar }
    }
    """
}
