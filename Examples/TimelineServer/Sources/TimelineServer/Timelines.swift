import Foundation
import GraphQLClient
import HTTPClientCore
import Stores
import Streams

/// A user, on one device: each has a token of its own.
struct Visitor: Hashable, Sendable {
  let userID: String
  let token: Token
}

/// A token of the BFF's.
struct Token: Hashable, Sendable {
  let value: String
}

/// The users' timelines: one client for the process, and a store for each user, so that no user is ever shown what
/// another one may see. The devices of a user share the store; each request has the token of the device that needs it.
struct Timelines: Sendable {
  private let client: APIClient
  private let stores: StoreGroup<String, String, Timeline>
  private let shared = SharedUpdates<Followed, TimelineUpdate>()

  /// Whose browsers follow whose timeline.
  private struct Followed: Hashable {
    let visitorID, ownerID: String
  }

  /// Makes the timelines of a BFF. A value is fresh for `staleTime`.
  init(client: APIClient, staleTime: Duration) {
    self.client = client
    stores = StoreGroup { _ in
      var configuration = StoreConfiguration<Timeline>()
      configuration.freshness = Freshness(staleTime: staleTime)
      return Store(
        .ofStream { (userID: String, context: ReadContext) in
          .deferred {
            let session = TimelineSession(client: try client.acting(with: context[Token.self]))
            return session.timeline(userID: userID).map(\.timeline)
          }
        }, configuration: configuration)
    }
  }

  /// Signs a user in, with a token for this device.
  func logIn(_ userID: String) async throws -> Visitor {
    let data = try await LogIn(variables: .init(userID: userID)).data(on: client).value
    return Visitor(userID: userID, token: Token(value: data.login.accessToken))
  }

  /// A user's timeline, as a visitor may see it.
  func timeline(of userID: String, for visitor: Visitor, _ policy: FetchPolicy) async throws -> Snapshot<Timeline> {
    try await store(of: visitor).get(userID, policy, context: context(of: visitor)).value
  }

  /// A user's timeline now, and whenever it changes: by a like through this server, or because the BFF says so. All
  /// devices of a visitor share it, under the token of the first one that follows. If the BFF no longer accepts that, or
  /// ends the subscription, the stream fails for all; those who come back share it under another token.
  func updates(of userID: String, for visitor: Visitor) -> Observable<TimelineUpdate> {
    shared.stream(Followed(visitorID: visitor.userID, ownerID: userID)) { [self] in
      let store = try store(of: visitor)
      let likes = MomentLiked(variables: .init(userID: userID)).subscribe(on: try client.acting(with: visitor.token))
        .do(onNext: { event in
          switch event {
          // It has changed, or something was missed, also before there was a connection: it is fetched again. Without a
          // connection this shows whether the BFF is away.
          case .connected, .value, .failed, .disconnected, .reconnected, .dropped: store.invalidate(userID)
          case .resumed: break
          }
        })
      let end = RequestError(.connectionLost, "The backend has ended the subscription.")
      let isFollowed = Observable.concat(.just(nil), likes.map(\.isConnected), .error(end)).distinctUntilChanged()
      let snapshots = store.stream(userID, .cacheAndNetwork, context: context(of: visitor)).map { snapshot in
        // Not an outage, during which the cached timeline is shown: the browsers have to sign in.
        if let refusal = snapshot.errors.first(where: { RequestError(wrapping: $0).isUnauthenticated }) {
          throw refusal
        }
        return snapshot
      }
      return .combineLatest(snapshots, isFollowed) { TimelineUpdate(snapshot: $0, isFollowed: $1) }
    }
  }

  /// Sets a like of the visitor on a moment in a timeline.
  func setLike(_ isLiked: Bool, momentID: String, in ownerID: String, for visitor: Visitor) async throws {
    let session = SetLikeSession(client: try client.acting(with: visitor.token))
    // No guess: the browser waits for the response, and the other ones for the event that follows it.
    _ = try await store(of: visitor).mutate(.of(ownerID) { _ in nil }) {
      session.setLike(momentID: momentID, userID: visitor.userID, isLiked: isLiked).map(\.timeline)
    }.value
  }

  /// How often a timeline that was read was in memory.
  var reads: CacheStatistics { stores.statistics() }

  /// How many timelines are subscribed to, and how many browsers follow them.
  var followed: (streams: Int, followers: Int) { shared.counts }

  /// Ends all streams, and forgets all timelines.
  func close() async { await stores.close() }

  private func store(of visitor: Visitor) throws -> Store<String, Timeline> {
    try stores.store(for: visitor.userID)
  }

  /// What a request of a visitor carries. A response is shared with reads under the same token only.
  private func context(of visitor: Visitor) -> ReadContext {
    var context = ReadContext(identity: visitor.token)
    context[Token.self] = visitor.token
    return context
  }
}

typealias Timeline = TimelineFields

/// A timeline that is followed.
struct TimelineUpdate: Sendable {
  let snapshot: Snapshot<Timeline>
  /// Whether the BFF sends its changes at this moment; `nil` until that is known.
  let isFollowed: Bool?
}

extension LiveEvent {
  /// Whether there is a connection, of which the event comes.
  fileprivate var isConnected: Bool? {
    if case .disconnected = self { false } else { true }
  }
}

extension APIClient {
  /// A client on the same connections, with the same limits and circuits, on behalf of a visitor.
  fileprivate func acting(with token: Token?) throws -> APIClient {
    var client = self
    if let token { try client.defaultHeaders.set("Authorization", to: "Bearer \(token.value)") }
    return client
  }
}

private struct LogIn: GraphQLSession {
  struct Variables: Encodable, Sendable {
    let userID: String
  }
  struct ResponseData: Decodable, Sendable {
    struct Token: Decodable, Sendable {
      let accessToken: String
    }
    let login: Token
  }
  static let query: GraphQLDocument = "mutation logIn($userID: ID!) { login(userID: $userID) { accessToken } }"
  let variables: Variables

  var isResponseSecret: Bool { true }
}

private struct MomentLiked: GraphQLSubscription {
  struct Variables: Encodable, Sendable {
    let userID: String
  }
  struct ResponseData: Decodable, Sendable {
    struct Moment: Decodable, Sendable {
      let id: String
    }
    let momentLiked: Moment
  }
  static let query: GraphQLDocument = "subscription momentLiked($userID: ID!) { momentLiked(userID: $userID) { id } }"
  let variables: Variables
}
