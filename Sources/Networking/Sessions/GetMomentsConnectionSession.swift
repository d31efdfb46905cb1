public import JSON
public import Models
public import Streams

/// Gives a user's timeline by cursors from a GraphQL server, by the operation `momentsConnection`.
public struct GetMomentsConnectionSession: GetMomentsConnectionSessionType {
  /// What the server answers.
  public typealias Response = GraphQLResponse<Session.ResponseData>

  private let sessionHandler: @Sendable (Session) -> Observable<Response>
  private let withLikes: @Sendable () -> Bool

  /// Posts through a client. The toggle says, for each request, whether to ask for likes.
  public init(client: APIClient, withLikes: @escaping @Sendable () -> Bool = { true }) {
    self.init(sessionHandler: { $0.post(on: client) }, withLikes: withLikes)
  }

  /// Answers by a closure, which gets the request as a value: the place where tests put theirs.
  public init(
    sessionHandler: @escaping @Sendable (Session) -> Observable<Response>,
    withLikes: @escaping @Sendable () -> Bool = { true }
  ) {
    self.sessionHandler = sessionHandler
    self.withLikes = withLikes
  }

  /// A cold stream of one whole part of the timeline; any GraphQL error fails it.
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
    /// The variables of the query; what is `nil` is left out.
    public struct Variables: Encodable, Hashable, Sendable {
      /// Whose timeline.
      public let userID: String
      /// The greatest number of moments.
      public let first: Int?
      /// Where the part begins.
      public let after: String?
      /// Whether to ask for likes.
      public let withLikes: Bool
    }

    /// The `data` of the answer.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The part of the timeline.
      public let momentsConnection: MomentsConnection

      /// Makes the data; for fixtures.
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

    /// Asks for a part of a user's timeline.
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
  /// Reads the data; the error names the path of what is missing or of another type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(momentsConnection: try json.readMember("momentsConnection"))
  }
}
