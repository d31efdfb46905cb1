public import JSON
public import Models
public import Streams

/// Gives a user's timeline by page numbers from a GraphQL server, by the operation `momentsPage`.
public struct GetMomentsPageSession: GetMomentsPageSessionType {
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

  /// A cold stream of one whole page, of which the first is 1; any GraphQL error fails it.
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
      /// Whose timeline.
      public let userID: String
      /// Which page.
      public let page: Int
      /// Whether to ask for likes.
      public let withLikes: Bool
    }

    /// The `data` of the answer.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The page. The schema lets it be null; without an error beside it that is no answer.
      public let momentsPage: MomentsPage

      /// Makes the data; for fixtures.
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

    /// Asks for a page of a user's timeline.
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
  /// Reads the data; the error names the path of what is missing or of another type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(momentsPage: try json.readMember("momentsPage"))
  }
}
