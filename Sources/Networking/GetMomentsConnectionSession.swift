public import GraphQLClient
public import Models
public import Streams
public import StrictJSON

/// Fetches a user's timeline by cursor, from any source.
public protocol GetMomentsConnectionSessionType: Sendable {
  /// A cold stream of one part of the timeline; each subscriber makes a new request.
  /// - Parameters:
  ///   - userID: The user's id.
  ///   - first: The greatest number of moments; `nil` for the server's default.
  ///   - after: A cursor from an earlier part, which this part comes after; `nil` to begin with the newest moment.
  func getMoments(userID: String, first: Int?, after: String?) -> Observable<MomentsConnection>
}

/// Fetches a user's timeline by cursor from a GraphQL server, with the operation `momentsConnection`.
public struct GetMomentsConnectionSession: GetMomentsConnectionSessionType, MomentsSession {
  private let sessionHandler: @Sendable (Session) -> Observable<Response>
  private let withLikes: @Sendable () -> Bool

  /// Calls a closure instead of a client, for tests: it gets the request as a value, and returns the response.
  public init(
    sessionHandler: @escaping @Sendable (Session) -> Observable<Response>,
    withLikes: @escaping @Sendable () -> Bool
  ) {
    self.sessionHandler = sessionHandler
    self.withLikes = withLikes
  }

  /// A cold stream of one complete part of the timeline; any GraphQL error fails it.
  public func getMoments(userID: String, first: Int?, after: String?) -> Observable<MomentsConnection> {
    .deferred {
      let session = Session(userID: userID, first: first, after: after, withLikes: withLikes())
      return sessionHandler(session).map { try session.data(of: $0).momentsConnection }
    }
  }
}

extension GetMomentsConnectionSession {
  /// The request.
  public struct Session: GraphQLSession {
    /// The variables of the query; those that are `nil` are left out.
    public struct Variables: Encodable, Hashable, Sendable {
      /// The id of the timeline's user.
      public let userID: String
      /// The greatest number of moments.
      public let first: Int?
      /// The cursor that the part comes after.
      public let after: String?
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of the response.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The part of the timeline.
      public let momentsConnection: MomentsConnection

      /// Makes the data, for fixtures.
      public init(momentsConnection: MomentsConnection) {
        self.momentsConnection = momentsConnection
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      query momentsConnection($userID: ID!, $first: Int, $after: String, $withLikes: Boolean!) {
        momentsConnection(userID: $userID, first: $first, after: $after) {
          edges { cursor node { ...momentFields } }
          pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
          totalCount
        }
      }
      """ + .momentFields

    /// The variables of this request.
    public let variables: Variables

    /// Makes a request for a part of a user's timeline.
    public init(userID: String, first: Int? = nil, after: String? = nil, withLikes: Bool = true) {
      variables = Variables(userID: userID, first: first, after: after, withLikes: withLikes)
    }
  }
}

extension GetMomentsConnectionSession.Session.Variables: JSONEncodable {
  /// Writes the variables.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("userID", userID)
    json.write("first", ifPresent: first)
    json.write("after", ifPresent: after)
    json.write("withLikes", withLikes)
    json.endObject()
  }
}

extension GetMomentsConnectionSession.Session.ResponseData: JSONDecodable {
  /// Reads the data; the error names the path of a member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(momentsConnection: try json.readMember("momentsConnection"))
  }
}
