public import GraphQLClient
public import Models
public import Streams
public import StrictJSON

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

/// Fetches a user's timeline from a GraphQL server, with the operation `getMomentsDetailsByUserID`.
public struct GetMomentsByUserIDSession: GetMomentsByUserIDSessionType, MomentsSession {
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

  /// A cold stream of one complete timeline; any GraphQL error fails it.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    Observable.deferred {
      let session = Session(userID: userID, withLikes: withLikes())
      return sessionHandler(session).map { try session.data(of: $0).getMomentsDetailsByUserID }
    }
  }

  /// A cold stream of one response: a timeline, and the GraphQL errors beside it.
  public func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>> {
    Observable.deferred {
      let session = Session(userID: userID, withLikes: withLikes(), errorPolicy: .all)
      return sessionHandler(session).map { $0.map(\.getMomentsDetailsByUserID) }
    }
  }
}

extension GetMomentsByUserIDSession {
  /// The request.
  public struct Session: GraphQLSession {
    /// The variables of the query.
    public struct Variables: Encodable, Hashable, Sendable {
      /// The id of the timeline's user.
      public let userID: String
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of the response.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The timeline.
      public let getMomentsDetailsByUserID: MomentsDetails

      /// Makes the data, for fixtures.
      public init(getMomentsDetailsByUserID: MomentsDetails) {
        self.getMomentsDetailsByUserID = getMomentsDetailsByUserID
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      query getMomentsDetailsByUserID($userID: ID!, $withLikes: Boolean!) {
        getMomentsDetailsByUserID(userID: $userID) {
          ...momentsDetailsFields
        }
      }
      """ + .momentsDetailsFields

    /// The variables of this request.
    public let variables: Variables

    /// How to treat errors beside a timeline.
    public let errorPolicy: GraphQLErrorPolicy

    /// Makes a request for a user's timeline.
    public init(userID: String, withLikes: Bool = true, errorPolicy: GraphQLErrorPolicy = .none) {
      variables = Variables(userID: userID, withLikes: withLikes)
      self.errorPolicy = errorPolicy
    }
  }
}

extension GetMomentsByUserIDSession.Session.Variables: JSONEncodable {
  /// Writes the variables.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("userID", userID)
    json.write("withLikes", withLikes)
    json.endObject()
  }
}

extension GetMomentsByUserIDSession.Session.ResponseData: JSONDecodable {
  /// Reads the data; the error names the path of a member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(getMomentsDetailsByUserID: try json.readMember("getMomentsDetailsByUserID"))
  }
}
