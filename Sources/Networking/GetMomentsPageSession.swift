public import GraphQLClient
public import Models
public import Streams
public import StrictJSON

/// Fetches a user's timeline by page number, from any source.
public protocol GetMomentsPageSessionType: Sendable {
  /// A cold stream of one page, counting from 1; each subscriber makes a new request.
  func getMomentsPage(userID: String, page: Int) -> Observable<MomentsPage>
}

/// Fetches a user's timeline by page number from a GraphQL server, with the operation `momentsPage`.
public struct GetMomentsPageSession: GetMomentsPageSessionType, MomentsSession {
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

  /// A cold stream of one complete page, counting from 1; any GraphQL error fails it.
  public func getMomentsPage(userID: String, page: Int) -> Observable<MomentsPage> {
    .deferred {
      let session = Session(userID: userID, page: page, withLikes: withLikes())
      return sessionHandler(session).map { try session.data(of: $0).momentsPage }
    }
  }
}

extension GetMomentsPageSession {
  /// The request.
  public struct Session: GraphQLSession {
    /// The variables of the query.
    public struct Variables: Encodable, Hashable, Sendable {
      /// The id of the timeline's user.
      public let userID: String
      /// The number of the page, counting from 1.
      public let page: Int
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of the response.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The page. It is nullable in the schema, but `null` without an error is refused.
      public let momentsPage: MomentsPage

      /// Makes the data, for fixtures.
      public init(momentsPage: MomentsPage) {
        self.momentsPage = momentsPage
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      query momentsPage($userID: ID!, $page: Int!, $withLikes: Boolean!) {
        momentsPage(userID: $userID, page: $page) {
          curPage pageCount total size over
          datas { ...momentFields }
        }
      }
      """ + .momentFields

    /// The variables of this request.
    public let variables: Variables

    /// Makes a request for a page of a user's timeline.
    public init(userID: String, page: Int, withLikes: Bool = true) {
      variables = Variables(userID: userID, page: page, withLikes: withLikes)
    }
  }
}

extension GetMomentsPageSession.Session.Variables: JSONEncodable {
  /// Writes the variables.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("userID", userID)
    json.write("page", page)
    json.write("withLikes", withLikes)
    json.endObject()
  }
}

extension GetMomentsPageSession.Session.ResponseData: JSONDecodable {
  /// Reads the data; the error names the path of a member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(momentsPage: try json.readMember("momentsPage"))
  }
}
