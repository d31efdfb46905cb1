public import GraphQLClient
public import HTTPClientCore
public import Models
public import Streams

/// Posts photos, with any backend.
public protocol PostPhotoSessionType: Sendable {
  /// A cold stream of one moment, the new one; each subscriber posts the photo again. `onProgress` gets the progress of
  /// the exchange, one call at a time.
  func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<MomentsDetails.Moment>
}

/// Posts photos to a GraphQL server, with the operation `postPhoto`.
public struct PostPhotoSession: PostPhotoSessionType, MomentsSession {
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

  /// A cold stream of one moment, the new one; any GraphQL error fails it.
  public func postPhoto(
    _ photo: GraphQLUpload, title: String?, userID: String, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) -> Observable<MomentsDetails.Moment> {
    Observable.deferred {
      let session = Session(
        photo: photo, title: title, userID: userID, withLikes: withLikes(), onProgress: onProgress)
      return sessionHandler(session).map { try session.data(of: $0).postPhoto }
    }
  }
}

extension PostPhotoSession {
  /// The request.
  public struct Session: GraphQLSession {
    /// The variables of the mutation.
    public struct Variables: Encodable, Sendable {
      /// The id of the user who posts it.
      public let userID: String
      /// The photo.
      public let photo: GraphQLUpload
      /// The text above it.
      public let title: String?
      /// Whether to request likes.
      public let withLikes: Bool
    }

    /// The `data` of the response.
    public struct ResponseData: Decodable, Hashable, Sendable {
      /// The new moment.
      public let postPhoto: MomentsDetails.Moment

      /// Makes the data, for fixtures.
      public init(postPhoto: MomentsDetails.Moment) {
        self.postPhoto = postPhoto
      }
    }

    /// The document.
    public static let query: GraphQLDocument =
      """
      mutation postPhoto($userID: ID!, $photo: Upload!, $title: String, $withLikes: Boolean!) {
        postPhoto(userID: $userID, photo: $photo, title: $title) { ...momentFields }
      }
      """ + .momentFields

    /// The variables of this request.
    public let variables: Variables

    /// Gets the progress of the exchange.
    public let onProgress: (@Sendable (HTTPProgress) -> Void)?

    /// Makes a request that posts a photo.
    public init(
      photo: GraphQLUpload, title: String? = nil, userID: String, withLikes: Bool = true,
      onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) {
      variables = Variables(userID: userID, photo: photo, title: title, withLikes: withLikes)
      self.onProgress = onProgress
    }

    /// The standard request, with its progress reported.
    public func makeRequest(_ call: APICall) throws -> HTTPRequest {
      var request = try standardRequest(call)
      request.onProgress = onProgress
      return request
    }
  }
}
