public import GraphQLClient
public import Models
public import Streams
public import StrictJSON

/// Sets whether a user likes a moment, with any backend.
public protocol UpdateMomentLikeSessionType: Sendable {
  /// A cold stream of one timeline, the one with the moment; each subscriber makes a new request.
  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails>

  /// The mutation with an idempotency key, by which a server recognises a request that it has already carried out; for
  /// requests that may be sent more than once.
  func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails>
}

extension UpdateMomentLikeSessionType {
  /// Sends the request without the key: setting a like twice does no harm.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID: momentID, fromUserID: fromUserID)
  }
}

/// Sets whether a user likes a moment, on a GraphQL server, with the operation `updateMomentLike`.
public struct UpdateMomentLikeSession: UpdateMomentLikeSessionType, MomentsSession {
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

  /// A cold stream of one complete timeline, the one with the moment; any GraphQL error fails it.
  public func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID, fromUserID, idempotencyKey: nil)
  }

  /// The mutation with an idempotency key: such a request may be sent again even if the first may have arrived.
  public func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    updateLike(isLiked, momentID, fromUserID, idempotencyKey: idempotencyKey)
  }

  private func updateLike(
    _ isLiked: Bool, _ momentID: String, _ userID: String, idempotencyKey: String?
  ) -> Observable<MomentsDetails> {
    Observable.deferred {
      let session = Session(
        isLiked: isLiked, momentID: momentID, userID: userID, withLikes: withLikes(), idempotencyKey: idempotencyKey)
      return sessionHandler(session).map { try session.data(of: $0).updateMomentLike }
    }
  }
}

extension UpdateMomentLikeSession {
  /// The request.
  public struct Session: GraphQLSession {
    /// The variables of the mutation.
    public struct Variables: Encodable, Hashable, Sendable {
      /// The moment's id.
      public let momentID: String
      /// The id of the user who likes it, or no longer does.
      public let userID: String
      /// Whether it is liked.
      public let isLiked: Bool
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of the response.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The timeline with the moment.
      public let updateMomentLike: MomentsDetails

      /// Makes the data, for fixtures.
      public init(updateMomentLike: MomentsDetails) {
        self.updateMomentLike = updateMomentLike
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      mutation updateMomentLike($momentID: ID!, $userID: ID!, $isLiked: Boolean!, $withLikes: Boolean!) {
        updateMomentLike(momentID: $momentID, userID: $userID, isLiked: $isLiked) {
          ...momentsDetailsFields
        }
      }
      """ + .momentsDetailsFields

    /// The variables of this request.
    public let variables: Variables

    /// The idempotency key, with which the request may be sent more than once; `nil` if it may not.
    public let idempotencyKey: String?

    /// Makes a request that sets whether a user likes a moment.
    public init(
      isLiked: Bool, momentID: String, userID: String, withLikes: Bool = true, idempotencyKey: String? = nil
    ) {
      self.idempotencyKey = idempotencyKey
      variables = Variables(momentID: momentID, userID: userID, isLiked: isLiked, withLikes: withLikes)
    }
  }
}

extension UpdateMomentLikeSession.Session.Variables: JSONEncodable {
  /// Writes the variables.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("momentID", momentID)
    json.write("userID", userID)
    json.write("isLiked", isLiked)
    json.write("withLikes", withLikes)
    json.endObject()
  }
}

extension UpdateMomentLikeSession.Session.ResponseData: JSONDecodable {
  /// Reads the data; the error names the path of a member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(updateMomentLike: try json.readMember("updateMomentLike"))
  }
}
