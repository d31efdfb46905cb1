public import GraphQLClient
public import Models
public import Streams
public import StrictJSON

/// Tells of likes as they happen, from any source.
public protocol MomentLikedSessionType: Sendable {
  /// A cold stream of the moments of a user's timeline, each as it is after its likes have changed, and of what becomes
  /// of the connection. It ends only if the source does.
  func momentLiked(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>>
}

/// Subscribes to likes on a GraphQL server, with the operation `momentLiked`.
public struct MomentLikedSession: MomentLikedSessionType {
  /// What the server sends.
  public typealias Response = LiveEvent<GraphQLResponse<Session.ResponseData>>

  private let sessionHandler: @Sendable (Session) -> Observable<Response>
  private let withLikes: @Sendable () -> Bool

  /// Calls a closure instead of a client, for tests: it gets the subscription as a value, and returns its events. The
  /// toggle is read for each subscription, and says whether to request likes.
  public init(
    sessionHandler: @escaping @Sendable (Session) -> Observable<Response>,
    withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    self.sessionHandler = sessionHandler
    self.withLikes = withLikes
  }

  /// Subscribes through a client. The toggle is read for each subscription, and says whether to request likes.
  public init(client: APIClient, withLikes: @escaping @Sendable () -> Bool = { true }) {
    self.init(sessionHandler: { $0.subscribe(on: client) }, withLikes: withLikes)
  }

  /// A cold stream of whole moments; any GraphQL error fails it.
  public func momentLiked(userID: String) -> Observable<LiveEvent<MomentsDetails.Moment>> {
    Observable.deferred {
      let session = Session(userID: userID, withLikes: withLikes())
      return sessionHandler(session).map { event in
        try event.map { try session.data(of: $0).momentLiked }
      }
    }
  }
}

extension MomentLikedSession {
  /// The subscription.
  public struct Session: GraphQLSubscription {
    /// The variables of the subscription.
    public struct Variables: Encodable, Hashable, Sendable {
      /// The id of the timeline's user.
      public let userID: String
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of each result.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The moment, with its likes.
      public let momentLiked: MomentsDetails.Moment

      /// Makes the data, for fixtures.
      public init(momentLiked: MomentsDetails.Moment) {
        self.momentLiked = momentLiked
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      subscription momentLiked($userID: ID!, $withLikes: Boolean!) {
        momentLiked(userID: $userID) {
          ...momentFields
        }
      }
      """ + .momentFields

    /// The variables of this subscription.
    public let variables: Variables

    /// Makes a subscription to the likes of a user's timeline.
    public init(userID: String, withLikes: Bool = true) {
      variables = Variables(userID: userID, withLikes: withLikes)
    }
  }
}

extension MomentLikedSession.Session.Variables: JSONEncodable {
  /// Writes the variables.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("userID", userID)
    json.write("withLikes", withLikes)
    json.endObject()
  }
}

extension MomentLikedSession.Session.ResponseData: JSONDecodable {
  /// Reads the data; the error names the path of a member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(momentLiked: try json.readMember("momentLiked"))
  }
}
