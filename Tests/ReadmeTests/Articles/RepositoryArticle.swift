// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import HTTPClientCore
import Models
import Networking
import Stores
import Streams

enum RepositoryArticle {
  struct Rename: Codable, Sendable {
    let name: String
  }

  struct RenameUser: APISession {
    typealias ResponseType = User
    let parameters: Rename
    let idempotencyKey: String?

    init(_ rename: Rename, idempotencyKey: String) {
      parameters = rename
      self.idempotencyKey = idempotencyKey
    }
  }

  static func read(
    _ id: String, _ session: NetworkingArticle.GetUserSession, _ caches: URL, account: String, bag: DisposeBag,
    show: @escaping @Sendable (User?, Bool) -> Void
  ) async throws -> (User, Snapshot<User>) {
    let folder = caches.appending(path: "users")  // one for each store
    let users = Store<String, User>(
      .ofStream { id in session.getUser(id: id) }, storage: .source(try DiskCache(folder: folder, partition: account)))

    users.stream(id, .cacheAndNetwork)  // Observable<Snapshot<User>>, live
      .subscribe(onNext: { snapshot in show(snapshot.value, snapshot.isFetching) })
      .disposed(by: bag)

    let user = try await users.cached(id).value  // the cached user if it is fresh, else the server's
    let snapshot = try await users.get(id, .networkFirst).value  // by any policy, with its source and age
    return (user, snapshot)
  }

  static func submit(_ rename: Rename, on client: APIClient, caches: URL, account: String) async throws -> User {
    let outbox = try Outbox<Rename, User>(
      folder: caches.appending(path: "outbox"), partition: account, isIdempotent: { _ in true }
    ) { rename, key in
      RenameUser(rename, idempotencyKey: key).put(on: client)
    }
    let user = try await outbox.submit(rename).value  // or `OutboxError.queued`: it is sent later
    await outbox.flush()  // sends what waits
    return user
  }

  struct GetWholeUser: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let id: String
    }
    struct ResponseData: Decodable, Sendable {
      let user: User
    }
    static let query: GraphQLDocument = "query getUser($id: ID!) { user(id: $id) { id name } }"
    let variables: Variables
    let errorPolicy = GraphQLErrorPolicy.all

    init(id: String) {
      variables = Variables(id: id)
    }
  }

  static func keepParts(on client: APIClient) -> Store<String, User> {
    let users = Store<String, User>(
      .ofPartial { id in GetWholeUser(id: id).post(on: client).map { Fetched($0.map(\.user)) } })
    return users
  }

  static func page(
    _ id: String, _ session: some GetMomentsConnectionSessionType
  ) -> Pager<MomentsDetails.Moment, String> {
    let pager = Pager<MomentsDetails.Moment, String> { cursor in  // nil for the first page
      session.getMoments(userID: id, first: 20, after: cursor).map {
        Page($0.edges.map(\.node), hasNextPage: $0.pageInfo.hasNextPage, endCursor: $0.pageInfo.endCursor)
      }
    }
    return pager
  }

  struct Account: Hashable, Sendable {
    let id: String
  }

  struct Token: Hashable, Sendable {
    let text: String
  }

  struct Service: Sendable {
    func user(_ id: String, token: Token?) async throws -> User { User(id: id, name: token?.text ?? "nobody") }
  }

  static func user(_ id: String, of account: Account, _ token: Token, _ service: Service, _ folder: URL) async throws
    -> User
  {
    let users = StoreGroup(idleTimeout: .seconds(600), maximumCount: 5_000) { (account: Account) in
      Store<String, User>(
        .of { id, context in try await service.user(id, token: context[Token.self]) },
        storage: .source(try DiskCache(folder: folder, partition: account.id)))
    }

    var context = ReadContext(identity: token)
    context[Token.self] = token
    let user = try await users.store(for: account).cached(id, context: context).value
    return user
  }
}
