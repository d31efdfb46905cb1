import Foundation
import HTTP
import Models
import Networking
import Repository
import Streams

/// Who asks: a user, and the token that the BFF gave to one of the user's devices.
struct Account: Hashable, Sendable {
  let userID: String
  let token: String
}

/// The users' timelines: one client for the process, and a store for each account, so that no user is ever shown what
/// another one may see.
struct Timelines: Sendable {
  private let client: APIClient
  private let stores: StoreGroup<Account, String, MomentsDetails>

  /// Makes the timelines of a BFF. A value is fresh for `staleTime`.
  init(client: APIClient, staleTime: Duration = .seconds(5)) {
    self.client = client
    stores = StoreGroup { account in
      let client = try client.acting(with: account.token)
      var configuration = StoreConfiguration<MomentsDetails>()
      configuration.freshness = Freshness(staleTime: staleTime)
      let session = GetMomentsByUserIDSession(client: client)
      return Store(configuration: configuration) { userID in session.getMoments(userID: userID) }
    }
  }

  /// Signs a user in: the account, with a token of its own.
  func logIn(_ userID: String) async throws -> Account {
    let data = try await LogIn(variables: .init(userID: userID)).data(on: client).value
    return Account(userID: userID, token: data.login.accessToken)
  }

  /// A user's timeline, as an account may see it: the cached one if it is fresh, else the BFF's.
  func timeline(of userID: String, for account: Account) async throws -> Snapshot<MomentsDetails> {
    try await stores.store(for: account).get(userID).value
  }

  /// A user's timeline now, and whenever it changes: by a like through this server, or because the BFF says so.
  func updates(of userID: String, for account: Account) throws -> Observable<Snapshot<MomentsDetails>> {
    let store = try stores.store(for: account)
    let likes = MomentLiked(variables: .init(userID: userID)).subscribe(on: try client.acting(with: account.token))
      .do(onNext: { event in
        // Something was missed, or has changed: fetch the timeline again.
        if event.isGap || event.value != nil { store.invalidate(userID) }
      })
      .compactMap { _ -> Snapshot<MomentsDetails>? in nil }
    return .merge(store.stream(userID, .cacheAndNetwork), likes)
  }

  /// Sets a like of the account's user on a moment in a timeline.
  func setLike(_ isLiked: Bool, momentID: String, in ownerID: String, for account: Account) async throws {
    let session = UpdateMomentLikeSession(client: try client.acting(with: account.token))
    let store = try stores.store(for: account)
    // No guess: the browser waits for the response, and the other ones for the event that follows it.
    _ = try await store.mutate(ownerID, optimistic: { _ in nil }) {
      session.updateLike(isLiked, momentID: momentID, fromUserID: account.userID)
    }.value
  }

  /// Forgets what is cached for an account whose token the BFF has refused.
  func forget(_ account: Account) throws { try stores.signOut(account) }
}

extension APIClient {
  /// A client on the same connections, with the same limits and circuits, on behalf of a user.
  fileprivate func acting(with token: String) throws -> APIClient {
    var client = self
    try client.defaultHeaders.set("Authorization", to: "Bearer \(token)")
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
