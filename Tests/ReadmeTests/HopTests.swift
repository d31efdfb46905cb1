import Foundation
import GraphQLClient
import GraphQLClientTesting
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import HTTPMiddlewares
import Networking
import Repository
import Runtime
import SocketHTTP
import Stores
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// The paths of CONTRIBUTING against the stacks that they leave: no object on a path is missing in its list, and no list
/// is longer than it may be.
@Suite struct HopTests {
  /// The greatest number of hops.
  private static let limits = [
    "A request": 30, "A subscription": 30, "A mutation through the outbox": 26, "A finding of the contract check": 14,
    "`flatMap`": 7, "A response from the HTTP cache": 12, "`graphql validate`": 12,
  ]

  /// The lists, by their headings.
  private static let walks = Result {
    let text = try String(contentsOf: RepositoryLayout.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
    var walks: [String: String] = [:]
    for section in text.components(separatedBy: "\n### ").dropFirst() {
      guard let end = section.firstIndex(of: "\n") else { continue }
      walks[String(section[..<end])] = section.components(separatedBy: "```").dropFirst().first
    }
    return walks
  }

  private func walk(_ name: String) throws -> String { try #require(try Self.walks.get()[name]) }

  @Test(arguments: limits.keys.sorted())
  func `the hops of a path are numbered, and no more than they may be`(name: String) throws {
    let numbers = try walk(name).split(separator: "\n").compactMap {
      Int($0.prefix(4).trimmingPrefix(while: \.isWhitespace))
    }
    #expect(numbers == Array(1...numbers.count))
    #expect(numbers.count <= Self.limits[name] ?? 0)
  }

  /// Expects all objects on the stacks in the list, which have been so many at least.
  private func expect(_ stacks: Stacks, in name: String, atLeast count: Int) throws {
    let walk = try walk(name)
    let words = Set(walk.split { !$0.isLetter && !$0.isNumber }.map(String.init))
    let objects = stacks.objects
    #expect(objects.subtracting(words) == [], "name these in CONTRIBUTING, where they are on the path")
    #if DEBUG
      #expect(objects.count >= count)
    #endif
  }

  @Test func `a request`() async throws {
    let stacks = Stacks()
    let transport = WatchedTransport(inner: SocketTransport(), stacks: stacks)
    let client = try await APIClient(
      baseURL: BFFServer.shared().graphqlURL, transport: transport, decoder: WatchedDecoder(stacks: stacks))
    let repo = MomentsRepo(sessions: MomentsSessions(client: client))
    _ = try await repo.getMoments(userID: "0").value
    stacks.removeAll()  // The first made the connection.
    _ = try await repo.getMoments(userID: "0").do(onNext: { _ in stacks.note() }).value
    try expect(stacks, in: "A request", atLeast: 14)
  }

  @Test func `a subscription`() async throws {
    let stacks = Stacks()
    let url = try await BFFServer.shared().graphqlURL
    let transport = SocketTransport()
    var client = try APIClient(baseURL: url, transport: transport, decoder: WatchedDecoder(stacks: stacks))
    client.graphQL.live = .webSocket(over: WatchedTransport(inner: transport, stacks: stacks))
    let (connected, liked) = (Latch(), Latch())
    let subscription = MomentsRepo(sessions: MomentsSessions(client: client)).followLikes(userID: "0")
      .subscribe(onNext: { event in
        stacks.note()
        if case .value = event { liked.open() } else { connected.open() }
      })
    try await connected.wait()
    let friend = MomentsSessions(client: try APIClient(baseURL: url, transport: transport))
    _ = try await friend.updateMomentLike.updateLike(true, momentID: "m0-42", fromUserID: "0").value
    try await liked.wait()
    subscription.dispose()
    try expect(stacks, in: "A subscription", atLeast: 10)
  }

  @Test func `a mutation through the outbox`() async throws {
    let stacks = Stacks()
    let client = try await APIClient(baseURL: BFFServer.shared().graphqlURL, transport: SocketTransport())
    let folder = FileManager.default.temporaryDirectory.appending(path: "HopTests.\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let likes = UpdateMomentLikeSession(sessionHandler: { session in
      stacks.note()
      return session.post(on: client)
    })
    let repo = MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client), updateMomentLikeSession: likes,
      outbox: try Outbox(folder: folder, partition: "0", session: likes))
    _ = try await repo.getMoments(userID: "0").value
    let (began, shown) = (Latch(), Latch())
    let watching = repo.snapshots(userID: "0", policy: .cacheOnly).subscribe(onNext: { _ in
      guard began.isOpen else { return began.open() }
      stacks.note()
      shown.open()
    })
    try await began.wait()
    _ = try await repo.updateLike(isLiked: true, momentID: "m0-41", fromUserID: "0")
      .do(onNext: { _ in stacks.note() }).value
    try await shown.wait()
    watching.dispose()
    try expect(stacks, in: "A mutation through the outbox", atLeast: 8)
  }

  @Test func `a finding of the contract check`() throws {
    let schema = try Schema(parsing: "type Query { name: String! }")
    #expect(SessionCheck(schema).findings(in: WatchedSession.self).count == 1)
    try expect(WatchedSession.stacks, in: "A finding of the contract check", atLeast: 9)
  }

  @Test func `flatMap`() throws {
    let stacks = Stacks()
    Observable.from([1]).flatMap { _ in Observable.from([2]) }.subscribe(onNext: { _ in stacks.note() }).dispose()
    let walk = try walk("`flatMap`")
    #expect(stacks.objects(of: ["Streams"]).filter { !walk.contains($0) } == [])
  }

  @Test func `a response from the HTTP cache`() async throws {
    let stacks = Stacks()
    let transport = ScriptedTransport()
    let headers: HTTPHeaders = ["Content-Type": "application/json", "Cache-Control": "max-age=60"]
    transport.always(.any, .response(status: 200, headers: headers, body: Data(#"{"name": "a"}"#.utf8)))
    let url = try #require(URL(string: "https://example.com"))
    let client = try APIClient(
      baseURL: url, transport: transport, middlewares: [CacheMiddleware()], decoder: WatchedDecoder(stacks: stacks))
    _ = try await GetName().get(on: client).value
    stacks.removeAll()
    _ = try await GetName().get(on: client).do(onNext: { _ in stacks.note() }).value
    #expect(transport.requests.count == 1)
    try expect(stacks, in: "A response from the HTTP cache", atLeast: 2)
  }
}

private struct GetName: APISession {
  typealias ResponseType = [String: String]
}

/// Notes where it is decoded, and cannot be.
private struct WatchedSession: GraphQLSession {
  static let stacks = Stacks()
  static let query: GraphQLDocument = "query name { name }"

  struct ResponseData: Decodable, Sendable {
    enum CodingKeys: CodingKey { case name }

    init(from decoder: any Decoder) throws {
      stacks.note()
      _ = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .name)
    }
  }
}

/// Notes where it is asked to send, and where a connection has been found.
private struct WatchedTransport: HTTPTransport, WebSocketTransport {
  let inner: SocketTransport
  let stacks: Stacks

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    stacks.note()
    var request = request
    request.context.onConnected = { [stacks] _ in stacks.note() }
    return inner.send(request)
  }

  func connect(_ request: WebSocketRequest) -> Observable<WebSocketEvent> {
    stacks.note()
    return inner.connect(request)
  }
}

private struct WatchedDecoder: BodyDecoder {
  let stacks: Stacks

  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
    stacks.note()
    return try JSONCoder().decode(type, from: body)
  }
}

/// The functions on the stacks of the moments that were noted.
private final class Stacks: Sendable {
  private let functions = Locked<[(name: String, symbol: String)]>([])

  /// The modules that a path leads through: Streams passes things on, and SystemBase has the threads.
  private static let modules = [
    "GraphQLClient", "GraphQLTesting", "HTTPClientCore", "HTTPMiddlewares", "Networking", "Repository", "SocketHTTP",
    "Stores", "StrictJSON",
  ]

  func note() {
    // Without source locations, which take seconds.
    guard let stack = try? Backtrace.capture(limit: 256).symbolicated(options: [.useSymbolCache]) else { return }
    let named = stack.frames.compactMap { frame in frame.symbol.map { (name: $0.name, symbol: $0.rawName) } }
    functions.withLock { $0 += named }
  }

  func removeAll() { functions.withLock { $0 = [] } }

  /// The types whose functions were on a stack.
  var objects: Set<String> { Set(objects(of: Self.modules)) }

  func objects(of modules: [String]) -> [String] {
    let own = modules.map { "\($0.utf8.count)\($0)" }
    return functions.withLock { $0 }.filter { function in own.contains { function.symbol.hasPrefix("$s" + $0) } }
      .compactMap { function in
        // "closure #1 in static Store.start(_:_:)", and not a thunk "for …".
        guard !function.name.contains(" for ") else { return nil }
        let path = function.name.prefix { $0 != "(" && $0 != "<" }.split(separator: " ").last ?? ""
        guard path.contains(".") else { return nil }
        return path.split(separator: ".").first.map(String.init)
      }
  }
}
