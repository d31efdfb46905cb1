// The README's samples, word for word, so that they compile; `ReadmeTests` holds the two together and runs them.

import BFFOperations
import Foundation
import GraphQLClientTesting
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import HTTPMiddlewares
import Models
import Networking
import Repository
import SocketHTTP
import Streams
import StrictJSON
import Testing

import struct GeneratedMoments.LikeSession
import struct GeneratedMoments.TimelineSession

struct User: Codable, Hashable, Sendable {
  let id: String
  let name: String
}

struct GetUser: GraphQLSession {
  struct Variables: Encodable, Sendable { let id: String }
  struct ResponseData: Decodable, Sendable {
    struct Timeline: Decodable, Sendable { let userDetails: User }
    let timeline: Timeline
    var user: User { timeline.userDetails }
  }
  static let query: GraphQLDocument = """
    query getUser($id: ID!) { timeline: getMomentsDetailsByUserID(userID: $id) { userDetails { id name } } }
    """
  let variables: Variables
}

struct RenameUser: APISession {
  typealias ResponseType = User
  struct Parameters: Encodable, Sendable {
    let name: String
  }
  let id: String
  let parameters: Parameters
  var path: String { "users/\(id.percentEncoded)" }
  var responseParser: ResponseParser<User> { .envelope(CodeMsgData.self) }
}

enum CodeMsgData: EnvelopeKeys {
  static let code = "code"
  static let message = "msg"
  static let content = "data"
}

struct GetPhoto: APISession {
  typealias ResponseType = NoContent
  let id: String
  var path: String { "photos/\(id.percentEncoded)" }
}

extension APIClient {
  /// A client on the same connections, on behalf of a user.
  func acting(with token: String) throws -> APIClient {
    var client = self
    try client.defaultHeaders.set("Authorization", to: "Bearer \(token)")
    return client
  }
}

func end(_ transport: SocketTransport, _ users: Store<Int, User>) async {
  await transport.shutdown(within: .seconds(20))  // refuses new requests, and lets those in flight finish
  await users.close()  // its streams complete, so connections that they feed end; all writes are then on disk
}

struct FixtureSession: GetMomentsByUserIDSessionType {
  let details: MomentsDetails
  func getMoments(userID: String) -> Observable<MomentsDetails> { .just(details) }
}

struct SlowRequests: RequestObserver {
  let limit: Duration

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let name = request.operationName ?? "unnamed"
    return { event in
      guard case .ended(let summary) = event, summary.duration >= limit else { return }
      print(name, summary.outcome.label, "after", summary.duration, "and", summary.attemptCount, "attempts")
    }
  }
}

struct Home: Sendable {
  let timeline: MomentsDetails
  let friend: User?
  let gallery: Result<[MomentsDetails.Moment], any Error>
}

enum Samples {
  static func likedTimeline(endpoint: URL, bag: DisposeBag) async throws -> NormalizedStore {
    let client = try APIClient(baseURL: endpoint, middlewares: .standard())  // deadline, retries, circuit breaker
    let store = NormalizedStore(client, schema: .moments)  // or in a folder, with what waits for the network
    let timeline = TimelineSession.Session(userID: "0")
    store.stream(timeline)  // live: what is cached, what the server has, and each change of that
      .subscribe(onNext: { snapshot in print(snapshot.value?.timeline.moments.count { $0.isLiked } ?? 0, "liked") })
      .disposed(by: bag)
    _ = try await store.mutate(LikeSession.Session(momentID: "m0-1", userID: "0")).value
    return store
  }

  static func contract(sdl: String) throws {
    let check = SessionCheck(try Schema(parsing: sdl))  // with import GraphQLSchema and GraphQLTesting
    #expect(check.findings(in: GetUser.self, variables: [.init(id: "0")]).isEmpty)
  }

  static func firstScreen(endpoint: URL) async throws -> MomentsDetails {
    // with import Networking, Repository and Streams; the endpoint is a URL such as http://127.0.0.1:8000/graphql
    let client = try APIClient(baseURL: endpoint)
    let repo = MomentsRepo(sessions: MomentsSessions(client: client))

    let bag = DisposeBag()  // its subscriptions end with it
    repo.momentsDetails(userID: "0")  // live: the latest timeline, then every new one
      .subscribe(onNext: { print($0.userDetails.name, "has", $0.moments.count, "moments") })
      .disposed(by: bag)

    let timeline = try await repo.getMoments(userID: "0").value  // fetches, caches, and notifies watchers
    return timeline
  }

  static func live(client: APIClient, bag: DisposeBag, show: @escaping @Sendable (MomentsDetails?) -> Void) {
    var client = client
    client.graphQL.live = .webSocket()
    let repo = MomentsRepo(sessions: MomentsSessions(client: client))
    repo.snapshots(userID: "0", policy: .cacheAndNetwork).subscribe(onNext: { show($0.value) }).disposed(by: bag)
    repo.followLikes(userID: "0").subscribe(onError: { print($0) }).disposed(by: bag)
  }

  static func configuredClient(endpoint: URL) throws -> APIClient {
    let client = try APIClient(
      baseURL: endpoint, defaultHeaders: .userAgent(name: "Timelines", version: "2.1.0"),
      middlewares: [LoggingMiddleware { line in print(line) }],
      timeouts: HTTPTimeouts(connect: .seconds(2), idle: .seconds(5), total: .milliseconds(7500)),
      responseBodyLimit: 1 << 20)
    return client
  }

  static func resilientClient(endpoint: URL, tokens: any TokenProvider) throws -> APIClient {
    let client = try APIClient(
      baseURL: endpoint, middlewares: .standard(tokens: tokens, retries: 2), observer: SlowRequests(limit: .seconds(1)))
    return client
  }

  static func cachedUser(endpoint: URL, tokens: any TokenProvider, folder: URL) async throws -> User {
    let client = try APIClient(
      baseURL: endpoint, middlewares: .standard(tokens: tokens, cache: DiskCacheStorage(folder: folder)))
    let response = try await GetUser(variables: .init(id: "7")).get(on: client).value
    return response.data.user
  }

  static func limitedUser(client: APIClient) async throws -> User {
    do {
      return try await GetUser(variables: .init(id: "7")).data(on: client).value.user
    } catch let error as RequestError where error.kind == .rateLimited {
      print("Try again in \(error.retryAfter ?? .seconds(60)).")
      throw error
    }
  }

  static func endOnSignal(transport: SocketTransport, users: Store<Int, User>) -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)  // otherwise it ends the process before the handler is called
    let terminations = DispatchSource.makeSignalSource(signal: SIGTERM)
    terminations.setEventHandler {
      Task {
        await end(transport, users)
        exit(0)
      }
    }
    terminations.activate()
    return terminations
  }

  static func trustingClient(endpoint: URL) throws -> APIClient {
    var configuration = SocketTransport.Configuration()
    configuration.tls.trust = .systemAnd(.file("company-ca.pem"))
    let client = try APIClient(baseURL: endpoint, transport: SocketTransport(configuration: configuration))
    return client
  }

  static func foundationClient(endpoint: URL) throws -> APIClient {
    let client = try APIClient(baseURL: endpoint, encoder: FoundationJSON(), decoder: FoundationJSON())
    return client
  }

  static func user(on client: APIClient) async throws -> User {
    let user = try await GetUser(variables: .init(id: "0")).data(on: client).value.user
    print(user.name)
    return user
  }

  static func rename(below root: URL) throws -> Observable<User> {
    let api = try APIClient(baseURL: root)  // https://example.com/api, and then /api/users/7%2Fb
    let renamed = RenameUser(id: "7/b", parameters: .init(name: "Wei")).put(on: api)  // nothing is sent yet
    return renamed
  }

  static func photo(on api: APIClient, to file: URL) async throws -> HTTPResponseHead {
    var patient = api
    patient.timeouts.total = nil  // a minute may be too short; the idle timeout still ends what stalls
    let head = try await patient.download(GetPhoto(id: "7"), to: file, upTo: 1 << 30) { progress in
      print(progress.received, "of", progress.totalToReceive ?? 0, "bytes")
    }.value
    return head
  }

  static func like(in repo: MomentsRepo, bag: DisposeBag) {
    repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "3").subscribe(
      onError: { error in
        let error = RequestError(wrapping: error)
        switch error.kind {
        case .timedOut, .cannotConnect, .connectionLost: print("try again:", error.message)
        case .graphQL: print(error.graphQLErrors.map { $0.code ?? $0.message })
        default: print(error)
        }
      }
    ).disposed(by: bag)
  }

  static func keptTimelines(client: APIClient, caches: URL, bag: DisposeBag) throws -> MomentsRepo {
    let repo = MomentsRepo(
      storage: .source(try DiskCache(folder: caches.appending(path: "timelines"), partition: "3@bff.example.com")),
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client),
      updateMomentLikeSession: UpdateMomentLikeSession(client: client))

    repo.snapshots(userID: "0", policy: .cacheAndNetwork)  // the cached value, the network's, then every change
      .subscribe(onNext: { snapshot in
        print(snapshot.value?.moments.count ?? 0, snapshot.source ?? "nothing yet", snapshot.age, snapshot.isFetching)
        for error in snapshot.errors { print(error) }  // a failure is a value: the stream continues
      })
      .disposed(by: bag)
    return repo
  }

  static func keptUsers(
    client: APIClient, api: APIClient, caches: URL
  ) async throws -> (Snapshot<User>, Observable<User>) {
    var configuration = StoreConfiguration<User>()
    configuration.freshness.staleTime = .seconds(60)
    configuration.freshness.staleIfError = .seconds(3600)
    configuration.writing = .behind
    let cache = try DiskCache<Int, User>(folder: caches.appending(path: "users"))
    let users = Store<Int, User>(
      .ofStream { id in GetUser(variables: .init(id: "\(id)")).data(on: client).map(\.user) },
      storage: .source(cache), configuration: configuration)
    let snapshot = try await users.get(0, .networkFirst).value  // the cached value if the network fails
    print(snapshot.value?.name ?? "nobody", snapshot.source ?? "nothing yet")
    let rename = users.mutate(.of(0) { $0.map { User(id: $0.id, name: "Mei") } }) {
      RenameUser(id: "0", parameters: .init(name: "Mei")).put(on: api)
    }  // shown and sent when somebody subscribes
    await users.flush()  // before the process ends: all writes are then on disk
    return (snapshot, rename)
  }

  static func handled(fixture: MomentsDetails) -> GetMomentsByUserIDSession {
    let session = GetMomentsByUserIDSession(sessionHandler: { session in
      session.variables.userID == "0"
        ? .just(.init(data: .init(getMomentsDetailsByUserID: fixture)))
        : .error(RequestError(.timedOut, "No response."))
    })
    return session
  }

  static func scripted(endpoint: URL) async throws {
    let transport = ScriptedTransport()
    transport.expect(
      .operation("getUser", variables: ["id": "0"]),
      .json(#"{"data": {"timeline": {"userDetails": {"id": "0", "name": "Wei"}}}}"#))
    let client = try APIClient(baseURL: endpoint, transport: transport)
    #expect(try await user(on: client).name == "Wei")
    #expect(transport.failures.isEmpty)
  }

  static func home(
    in repo: MomentsRepo, friend: Observable<User>, gallery: Observable<[MomentsDetails.Moment]>
  ) -> Observable<Home> {
    let home = Observable.zip(
      repo.getMoments(userID: "0"),  // required: its failure fails the whole
      friend.map { $0 as User? }.catchAndReturn(nil),  // optional
      gallery.map { Result<_, any Error>.success($0) }.catch { .just(.failure($0)) }  // shows its own error
    ) { Home(timeline: $0, friend: $1, gallery: $2) }
    return home
  }

  static func pages(of userID: String, on client: APIClient, bag: DisposeBag) -> Pager<MomentsDetails.Moment, Int> {
    let pager = Pager(firstPage: 1) { number in
      GetMomentsPage(userID: userID, page: number).data(on: client).map(\.momentsPage)
        .map { Page($0.datas, number: $0.curPage, isLast: $0.over) }
    }
    pager.states.subscribe(onNext: { print($0.items.count, $0.phase) }).disposed(by: bag)
    pager.refresh()  // loads the first page, and replaces all rows with it
    return pager
  }

  static func offlineRepo(endpoint: URL, folder: URL, account: String) throws -> (MomentsRepo, outbox: Likes) {
    let client = try APIClient(baseURL: endpoint)
    let likes = UpdateMomentLikeSession(client: client)
    let outbox = try Outbox(folder: folder.appending(path: "outbox"), partition: account, session: likes)
    var flushing = client
    flushing.interceptors.append(OutboxInterceptor(outbox))  // sends waiting mutations when another request succeeds
    let repo = MomentsRepo(
      storage: .source(try DiskCache(folder: folder.appending(path: "timelines"), partition: account)),
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: flushing),
      updateMomentLikeSession: likes, outbox: outbox)
    return (repo, outbox)
  }

  typealias Likes = Outbox<MomentLike, MomentsDetails>

  static func likeOffline(in repo: MomentsRepo) async throws {
    do {
      _ = try await repo.updateLike(isLiked: true, momentID: "m0-1", fromUserID: "0").value
    } catch OutboxError.queued(let reason) {
      print("The heart is filled, and the like will be sent later:", reason.message)
    }
  }
}
