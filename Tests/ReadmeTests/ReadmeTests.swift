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
import Synchronization
import TestSupport
import Testing

import struct GeneratedMoments.TimelineSession

struct ReadmeTests {
  private let fixture = MomentsDetails(
    userDetails: .init(id: "0", name: "Wei", avatar: "a", backgroundImage: "b"), moments: [])

  private func swiftBlocks(of path: String) throws -> [String] {
    let text = try String(contentsOf: RepositoryLayout.root.appending(path: path), encoding: .utf8)
    return text.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  @Test(arguments: [
    ("README.md", "Samples"), ("Documentation/MomentsSDK.docc/MomentsSDK.md", "Articles/FirstProgram"),
    ("Sources/HTTPClientCore/HTTPClientCore.docc/HTTPClientCore.md", "Articles/HTTPArticle"),
    ("Sources/StrictJSON/StrictJSON.docc/StrictJSON.md", "Articles/JSONArticle"),
    ("Sources/GraphQLSchema/GraphQLSchema.docc/GraphQLSchema.md", "Articles/GraphQLSchemaArticle"),
    ("Sources/GraphQLTesting/GraphQLTesting.docc/ServerForTests.md", "Articles/ServerForTestsArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/InAServer.md", "Samples"),
    ("Sources/GraphQLClient/GraphQLClient.docc/Operations.md", "Samples"),
    ("Sources/Stores/Stores.docc/KeepAndWatch.md", "Samples"),
    ("Sources/Stores/Stores.docc/NormalisedCache.md", "Articles/NormalizedArticle"),
    ("Sources/Stores/Stores.docc/LiveWithoutSubscriptions.md", "Articles/NormalizedArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/GraphQLClient.md", "Articles/NetworkingArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/Uploads.md", "Articles/UploadsArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/WireEconomy.md", "Articles/WireEconomyArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/Cassettes.md", "Articles/CassettesArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/LiveData.md", "Articles/LiveDataArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/IncrementalDelivery.md", "Articles/IncrementalDeliveryArticle"),
    ("Sources/GraphQLClient/GraphQLClient.docc/SchemaTypes.md", "Articles/SchemaTypesArticle"),
    ("Sources/Stores/Stores.docc/Stores.md", "Articles/RepositoryArticle"),
    ("Sources/GraphQLLanguage/GraphQLLanguage.docc/GraphQLLanguage.md", "Articles/GraphQLLanguageArticle"),
    ("Sources/GraphQLTesting/GraphQLTesting.docc/GraphQLTesting.md", "Articles/GraphQLTestingArticle"),
    ("Sources/SocketHTTP/SocketHTTP.docc/SocketHTTP.md", "Articles/SocketHTTPArticle"),
    ("Sources/SocketHTTP/SocketHTTP.docc/WebSockets.md", "Articles/SocketHTTPArticle"),
    ("Sources/Streams/Streams.docc/FromAsyncSequence.md", "Articles/AsyncSequenceArticle"),
    ("Sources/Streams/Streams.docc/Streams.md", "Articles/StreamsArticle"),
  ]) func `every Swift sample of the documents stands in a file that compiles`(document: String, file: String) throws {
    let blocks = try swiftBlocks(of: document)
    let source = RepositoryLayout.root.appending(path: "Tests/ReadmeTests/\(file).swift")
    let samples = Self.unindented(try String(contentsOf: source, encoding: .utf8))
    #expect(!blocks.isEmpty)
    for block in blocks {
      #expect(samples.contains(Self.unindented(block)), "not in \(file).swift:\n\(block)")
    }
  }

  @Test func `the sample of signing in sends the token that it got`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"data": {"signIn": "token-of-wei"}}"#))
    let plain = try APIClient(baseURL: #require(URL(string: "https://example.com")), transport: transport)
    let answer = RawResponse(body: #"{"data": {"user": {"id": "7", "name": "Wei"}}}"#)
    let server = try ScriptedServer(.answering { _ in answer })
    let client = try await NetworkingArticle.signIn("wei", "canary-password", on: plain, endpoint: server.url)
    let user = try await NetworkingArticle.GetUser(variables: .init(id: "7")).data(on: client).value.user
    #expect(user.name == "Wei")
    #expect(server.requests.map { $0["Authorization"] } == ["Bearer token-of-wei"])
    #expect(transport.requests.count == 1)
  }

  @Test func `an observer receives the events of the sample`() throws {
    final class Statuses: RequestObserver {
      let seen = Mutex<[Int?]>([])

      func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
        { [self] event in
          switch event {
          case .attemptEnded(let attempt): seen.withLock { $0.append(attempt.status) }
          case .ended(let request): seen.withLock { $0.append(request.status) }
          default: break
          }
        }
      }
    }
    let statuses = Statuses()
    try HTTPArticle.tell(statuses, about: #require(URL(string: "https://example.com")))
    #expect(statuses.seen.withLock { $0 } == [503, 503])
  }

  @Test func `a session without content fails by the code of its API's envelope`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .json(#"{"code": 1001, "msg": "No."}"#))
    let client = try APIClient(baseURL: #require(URL(string: "https://example.com")), transport: transport)
    let errors = [
      await #expect(throws: RequestError.self) { try await NetworkingArticle.RemoveName().delete(on: client).value },
      await #expect(throws: RequestError.self) { try await NetworkingArticle.GetName().get(on: client).value },
    ]
    #expect(errors.map { $0?.kind } == [.rejected, .rejected])
  }

  @Test func `every guarantee has a test that begins with its number`() throws {
    let guarantees = try String(contentsOf: RepositoryLayout.root.appending(path: "GUARANTEES.md"), encoding: .utf8)
    let numbers = guarantees.matches(of: /(?m)^- \*\*([A-Z]\d+)\*\*/).map { String($0.1) }
    var sources = ""
    for folder in ["Tests", "Sources/TransportConformance", "Examples/NginxCache/Tests"].map({
      RepositoryLayout.root.appending(path: $0).path
    }) {
      for case let file as String in try #require(FileManager.default.enumerator(atPath: folder))
      where file.hasSuffix(".swift") {
        sources += try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      }
    }
    #expect(numbers.count > 30)
    for number in numbers {
      #expect(
        sources.contains("func `\(number):") || sources.contains("(\"\(number):")
          || sources.contains(" \"\(number): "), "\(number)")
    }
  }

  @Test func `the first program of the documentation's front page gets the name that the page says`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL, middlewares: .standard())
    let data = try await GetUserName(variables: .init(id: "0")).data(on: client).value
    let page = RepositoryLayout.root.appending(path: "Documentation/MomentsSDK.docc/MomentsSDK.md")
    let name = data.timeline.userDetails.name
    #expect(try String(contentsOf: page, encoding: .utf8).contains("`\(name)`, the name of user 0"))
  }

  @Test func `the first screen gives a timeline of the real server`() async throws {
    let timeline = try await Samples.firstScreen(endpoint: BFFServer.shared().graphqlURL)
    #expect(timeline.moments.count == 60)
  }

  @Test func `the README's first sample shows a like of the real server in what is cached`() async throws {
    let server = try await BFFServer.start()
    let store = try await Samples.likedTimeline(endpoint: server.graphqlURL, bag: DisposeBag())
    let timeline = try await store.get(TimelineSession.Session(userID: "0"), .cacheFirst).value.value?.timeline
    let moment = try #require(timeline?.moments.first { $0.id == "m0-1" })
    #expect(moment.isLiked)
    #expect(moment.likes.contains { $0.id == "0" })
  }

  @Test func `the README's operations are those that its first sample's structs were made of`() throws {
    let readme = try String(contentsOf: RepositoryLayout.root.appending(path: "README.md"), encoding: .utf8)
    let document = RepositoryLayout.root.appending(path: "Tests/GeneratedMoments/Operations/Timeline.graphql")
    #expect(readme.contains("```graphql\n\(try String(contentsOf: document, encoding: .utf8))```"))
  }

  @Test func `the README has 200 lines at most`() throws {
    let text = try String(contentsOf: RepositoryLayout.root.appending(path: "README.md"), encoding: .utf8)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 200)
  }

  @Test func `the sample of an operation of one's own runs on the real server`() async throws {
    let endpoint = try await BFFServer.shared().graphqlURL
    for client in [try Samples.configuredClient(endpoint: endpoint), try Samples.foundationClient(endpoint: endpoint)] {
      #expect(try await Samples.user(on: client).name == "Lin Wei")
    }
  }

  @Test func `the sample of a server's client runs on the real server`() async throws {
    let tokens = InMemoryTokenProvider(AccessToken("valid-token")) { _ in .never() }
    let client = try await Samples.resilientClient(endpoint: BFFServer.shared().graphqlURL, tokens: tokens)
    #expect(client.observer is SlowRequests)
    #expect(try await Samples.user(on: client).name == "Lin Wei")
  }

  @Test func `the samples of what is kept run on the real server, and without one`() async throws {
    let caches = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: caches) }
    let client = try await Samples.configuredClient(endpoint: BFFServer.shared().graphqlURL)
    let bag = DisposeBag()
    let repo = try Samples.keptTimelines(client: client, caches: caches, bag: bag)
    _ = try await repo.getMoments(userID: "0").value
    #expect(try await Samples.keptUsers(client: client, api: client, caches: caches).0.source == .network)

    let refusing = try RefusingPort()
    let unreachable = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1:\(refusing.port)/graphql")))
    let (user, _) = try await Samples.keptUsers(client: unreachable, api: unreachable, caches: caches)
    #expect(user.value?.name == "Lin Wei")
    #expect(user.source == .disk)
    #expect(user.errors.count == 1)
    let later = try Samples.keptTimelines(client: unreachable, caches: caches, bag: bag)
    #expect(try await later.getMoments(userID: "0", policy: .cacheOnly).value.value?.moments.count == 60)
  }

  @Test func `the sample of a REST session puts JSON and takes it out of its envelope`() async throws {
    let answer = RawResponse(body: #"{"code": 0, "msg": "", "data": {"id": "7", "name": "Wei"}}"#)
    let server = try ScriptedServer(.answering { _ in answer })
    #expect(try await Samples.rename(below: server.url.appending(path: "api")).value == User(id: "7", name: "Wei"))
    let request = try #require(server.requests.first)
    #expect(request.method == "PUT")
    #expect(request.target == "/api/users/7%2Fb")
    #expect(request.body == Array(#"{"name":"Wei"}"#.utf8))
  }

  @Test func `the samples of uploads send a file to the real server, and pieces one after another`() async throws {
    let server = try await BFFServer.start()
    let file = FileManager.default.temporaryDirectory.appending(path: "moments-sample-\(UUID().uuidString).jpg")
    try Data("a,1\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let path = try await UploadsArticle.upload(file, on: APIClient(baseURL: server.graphqlURL))
    #expect(try await RawHTTP.get(path, port: server.port).body == Array("a,1\n".utf8))

    let sink = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let pieces = try UploadsArticle.pieces(file) {
      AsyncStream { continuation in
        continuation.yield(Data("b,2\n".utf8))
        continuation.finish()
      }
    }
    _ = try await UploadsArticle.PutFile(file: pieces).put(on: APIClient(baseURL: sink.url)).value
    #expect(sink.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["name,size\na,1\nb,2\n"])
  }

  @Test func `the sample of a download writes a file`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "a photo") })
    #expect(try await Samples.photo(on: APIClient(baseURL: server.url), to: file).isSuccess)
    #expect(try Data(contentsOf: file) == Data("a photo".utf8))
  }

  @Test func `the samples of cassettes record the real server, and replay it`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let recorded = try await CassettesArticle.record(to: file, endpoint: BFFServer.shared().graphqlURL)
    let nowhere = try #require(URL(string: "https://nowhere.example/graphql"))
    #expect(try await CassettesArticle.replay(from: file, endpoint: nowhere) == recorded)
    let again = try await CassettesArticle.withCassette(file) { transport in
      let client = try APIClient(baseURL: nowhere, transport: transport)
      return try await GetMomentsByUserIDSession(client: client).getMoments(userID: "0").value
    }
    #expect(again == recorded)
  }

  @Test func `a copy of a client acts for a user, and the end of a server leaves nothing behind`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let answer = RawResponse(body: #"{"data": {"timeline": {"userDetails": {"id": "7", "name": "Wei"}}}}"#)
    let server = try ScriptedServer(.answering { _ in answer })
    let transport = SocketTransport()
    let client = try APIClient(baseURL: server.url, transport: transport).acting(with: "canary-of-7")
    var configuration = StoreConfiguration<User>()
    configuration.writing = .behind
    let cache = try DiskCache<Int, User>(folder: folder)
    let users = Store<Int, User>(
      .ofStream { id in GetUser(variables: .init(id: "\(id)")).data(on: client).map(\.user) },
      storage: .source(cache), configuration: configuration)
    #expect(try await users.get(7, .networkOnly).value.value?.name == "Wei")
    #expect(server.requests.first?["Authorization"] == "Bearer canary-of-7")
    await end(transport, users)
    #expect(cache.statistics.count == 1)
    try await server.waitForClientToClose()
  }

  @Test func `the samples for tests and fixtures run`() async throws {
    try await Samples.scripted(endpoint: #require(URL(string: "https://example.com/graphql")))
    #expect(try await Samples.handled(fixture: fixture).getMoments(userID: "0").value == fixture)
    #expect(try await FixtureSession(details: fixture).getMoments(userID: "9").value == fixture)
  }

  @Test func `the README's session passes the contract check, and a misspelt field of it is found as the README says`()
    throws
  {
    struct MisspeltUser: Decodable, Sendable {
      let id: String
      let nmae: String
    }
    struct Misspelt: GraphQLSession {
      struct ResponseData: Decodable, Sendable {
        struct Timeline: Decodable, Sendable { let userDetails: MisspeltUser }
        let timeline: Timeline
      }
      static let query = GetUser.query
      let variables: GetUser.Variables
    }
    let sdl = try String(contentsOf: RepositoryLayout.schema, encoding: .utf8)
    try Samples.contract(sdl: sdl)
    let findings = SessionCheck(try Schema(parsing: sdl)).findings(in: Misspelt.self, variables: [.init(id: "0")])
    let finding = try #require(findings.first)
    let readme = try String(contentsOf: RepositoryLayout.root.appending(path: "README.md"), encoding: .utf8)
    #expect(finding.witness == #"{"data": {"timeline": {"userDetails": {"id": "1", "name": "text"}}}}"#)
    let line = "\(finding.severity.rawValue) \(finding.path): \(finding.message)"
    #expect(readme.replacing("\n", with: " ").contains(line))
  }

  @Test func `the samples of contract checks, fixtures and documents run`() throws {
    let sdl = try String(contentsOf: RepositoryLayout.schema, encoding: .utf8)
    try GraphQLTestingArticle.check(sdl: sdl)
    let schema = try Schema(parsing: sdl)
    #expect(
      GraphQLTestingArticle.samples(schema)
        == SessionCheck(schema).report(on: GetUser.self, variables: [.init(id: "0")]))
    #expect(try GraphQLTestingArticle.fixture(schema).name == "Wei")
    #expect(try GraphQLLanguageArticle.samples() == "query user($id: ID!) {\n  user(id: $id) {\n    name\n  }\n}")
  }

  @Test func `the sessions of the articles agree with the schema`() throws {
    let schema = try Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
    let check = SessionCheck(schema, coder: JSONCoder(dates: .lenientISO8601, decimals: .string))
    #expect(check.findings(in: SchemaTypesArticle.Search.self, variables: [.init(text: "Low")]) == [])
    #expect(check.findings(in: SchemaTypesArticle.GetNode.self, variables: [.init(id: "1")]) == [])
    let since = SchemaTypesArticle.MomentsSince.Variables(userID: "0", since: Date(timeIntervalSince1970: 0))
    #expect(check.findings(in: SchemaTypesArticle.MomentsSince.self, variables: [since]) == [])
  }

  /// The home screen's three requests on the real server; the ids say which of them the server refuses.
  private func home(owner: String = "0", gallery: String = "0") async throws -> Home {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let repo = MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession { session in
        GetMomentsByUserIDSession.Session(userID: owner, withLikes: session.variables.withLikes).post(on: client)
      },
      updateMomentLikeSession: UpdateMomentLikeSession(client: client))
    return try await Samples.home(
      in: repo, friend: GetUser(variables: .init(id: "3")).data(on: client).map(\.user),
      gallery: GetMomentsPage(userID: gallery, page: 1).data(on: client).map { $0.momentsPage.datas }
    ).value
  }

  @Test func `the samples of unions, interfaces and scalars read the real server's types`() async throws {
    let client = try await SchemaTypesArticle.client(endpoint: BFFServer.shared().graphqlURL)
    let found = try await SchemaTypesArticle.Search(variables: .init(text: "Low")).data(on: client).value.search
    #expect(found.contains { if case .moment(_, "Low-level programming") = $0 { true } else { false } })
    let people = try await SchemaTypesArticle.Search(variables: .init(text: "Wei")).data(on: client).value.search
    #expect(people.contains { if case .user("0", "Lin Wei") = $0 { true } else { false } })
    let other = #"{"__typename": "Group", "id": "9"}"#
    let group = try JSONCoder().decode(SchemaTypesArticle.SearchResult.self, from: Data(other.utf8))
    #expect({ if case .other("Group") = group { true } else { false } }())
    let node = try await SchemaTypesArticle.GetNode(variables: .init(id: "m0-1")).data(on: client).value.node
    #expect(node?.title == "Low-level programming")
    #expect(node?.name == nil)
    let since = Date(timeIntervalSince1970: 1_605_521_360)
    let variables = SchemaTypesArticle.MomentsSince.Variables(userID: "0", since: since)
    let moments = try await SchemaTypesArticle.MomentsSince(variables: variables).data(on: client).value.momentsSince
    #expect(moments.map(\.id) == ["m0-0"])
    #expect(moments.first?.createdAt == since)
    let money = try JSONCoder().decode([SchemaTypesArticle.Money].self, from: Data(#"["12.50 EUR"]"#.utf8))
    #expect(try JSONCoder().encode(money) == Data(#"["12.5 EUR"]"#.utf8))
    #expect(throws: DecodingError.self) {
      try JSONCoder().decode([SchemaTypesArticle.Money].self, from: Data(#"["12.50"]"#.utf8))
    }
  }

  @Test func `the sample of a home screen joins three responses`() async throws {
    let home = try await home()
    #expect(home.timeline.moments.count == 60)
    #expect(home.friend?.name == "Émile O'Neill")
    #expect(try home.gallery.get().count == 20)
  }

  @Test func `a part of the home screen that fails shows its error, or is missing, as it was chosen`() async throws {
    let home = try await home(gallery: "404")
    #expect(home.timeline.moments.count == 60)
    #expect(throws: RequestError.self) { try home.gallery.get() }
    let repo = MomentsRepo(
      getMomentsByUserIDSession: FixtureSession(details: fixture),
      updateMomentLikeSession: UpdateMomentLikeSession { _ in .never() })
    let late = RequestError(.timedOut, "Late.")
    let missing = try await Samples.home(in: repo, friend: .error(late), gallery: .error(late)).value
    #expect(missing.friend == nil)
    #expect(missing.timeline == fixture)
  }

  @Test func `the part of the home screen that has to be there fails the whole`() async throws {
    let error = await #expect(throws: RequestError.self) { try await home(owner: "404") }
    #expect(error?.graphQLErrors.first?.code == "NOT_FOUND")
  }

  @Test func `the sample without a network keeps a like, and sends it when another request succeeds`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let nowhere = try RefusingPort()
    let offline = try #require(URL(string: "http://127.0.0.1:\(nowhere.port)/graphql"))
    let earlier = try Samples.offlineRepo(endpoint: offline, folder: folder, account: "me")
    try await Samples.likeOffline(in: earlier.0)
    await earlier.outbox.close()
    let server = try await BFFServer.start()
    let (repo, outbox) = try Samples.offlineRepo(endpoint: server.graphqlURL, folder: folder, account: "me")
    let sent = outbox.changes.compactMap { if case .sent(_, let details) = $0 { details } else { nil } }
    async let delivered = sent.value
    _ = try await repo.getMoments(userID: "0").value
    #expect(try await delivered.moments[1].isLiked == true)
    #expect(try await server.stats().operations["updateMomentLike"] == 1)
    try await server.stop()
  }

  @Test func `the sample of live data shows a like of the real server, and the article's sample does`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL)
    let bag = DisposeBag()
    let likers = Monitor<[String]>([])
    Samples.live(client: client, bag: bag) { details in
      if let moment = details?.moments.first { likers.update { $0 = moment.likes?.map(\.id) ?? [] } }
    }
    let ids = Monitor<[String]>([])
    var live = client
    live.graphQL.live = .webSocket()
    LiveDataArticle.watch(
      on: live, bag: bag, show: { moment in ids.update { $0.append(moment?.id ?? "") } }, fetchTimeline: {})
    try await eventually { try await server.stats().activeSubscribers >= 2 }
    let like = UpdateMomentLikeSession(client: client)
    _ = try await like.updateLike(true, momentID: "m0-0", fromUserID: "4").value
    try await likers.wait { $0.contains("4") }
    try await ids.wait { $0 == ["m0-0"] }
    var scripted = client
    let transport = LiveDataArticle.scripted(&scripted)
    let events = Monitor(0)
    LiveDataArticle.watch(on: scripted, bag: bag, show: { _ in }, fetchTimeline: { events.update { $0 += 1 } })
    #expect(events.value == 2)
    #expect(transport.failures.isEmpty)
  }

  @Test func `the sample of responses in parts shows each moment's views in the end`() async throws {
    let client = try APIClient(baseURL: await BFFServer.shared().graphqlURL)
    let bag = DisposeBag()
    let shown = Monitor<[String: String]>([:])
    IncrementalDeliveryArticle.watch(on: client, bag: bag) { id, text in shown.update { $0[id] = text } }
    let end = try await shown.wait { $0.count == 5 && $0.values.allSatisfy { $0.hasSuffix(" views") } }
    #expect(end.keys.contains("m1-4"))
  }

  @Test func `the sample of a pager loads page by page`() async throws {
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL)
    let bag = DisposeBag()
    let pager = Samples.pages(of: "0", on: client, bag: bag)
    #expect(try await pager.states.filter { $0.items.count == 20 }.value.items.first?.id == "m0-0")
  }

  private static func unindented(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
  }
}
