import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

@Suite("responses in files")
struct DiskCacheStorageTests {
  let folder = TemporaryFolder()

  private struct GetThing: APISession {
    typealias ResponseType = HTTPResponse
    var query = "thing"
    var token: String?
    var path: String { query }
    var headers: HTTPHeaders {
      get throws {
        var headers: HTTPHeaders = ["Accept": "text/plain", "X-Tenant": "CANARY-tenant"]
        if let token { try headers.set("Authorization", to: token) }
        return headers
      }
    }
    let responseParser = ResponseParser<HTTPResponse>.response
  }

  private static let first: ScriptedResponse = .response(
    headers: [
      "Content-Type": "application/x-a", "ETag": "\"v1\"", "Cache-Control": "no-cache", "Vary": "X-Tenant, Accept",
      "Set-Cookie": "CANARY-cookie",
      "X-Text": "\"ü\\",
    ], body: Data([0, 1, 0xFF]))

  /// A client as a process has it that has just started.
  private func client(_ transport: ScriptedTransport, _ storage: (any CacheStorage)? = nil) throws -> APIClient {
    try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport,
      middlewares: .standard(cache: storage ?? DiskCacheStorage(folder: folder.url)))
  }

  @Test func `a process that is started again works from a 304`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, Self.first)
    _ = try await GetThing().get(on: client(transport)).value
    transport.expect(.any, .response(status: 304, headers: ["ETag": "\"v1\""]))
    let response = try await GetThing().get(on: client(transport)).value
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"v1\""])
    #expect(response.head.source == .validatedCache)
    #expect(response.body == Data([0, 1, 0xFF]))
    #expect(response.head.headers["X-Text"] == "\"ü\\")
    #expect(response.head.headers["Set-Cookie"] == nil)
  }

  @Test func `S3 and F4: files show no URL, owner, cookie or field of the request, and owners find their own`()
    async throws
  {
    let transport = ScriptedTransport()
    for token in ["CANARY-token-1", "CANARY-token-2"] {
      transport.expect(
        .any,
        .response(headers: ["Cache-Control": "max-age=600", "Vary": "X-Tenant"], body: Data(token.suffix(1).utf8)))
      _ = try await GetThing(query: "CANARY-query", token: token).get(on: client(transport)).value
    }
    transport.expect(.any, Self.first)
    _ = try await GetThing(token: "CANARY-token-1").get(on: client(transport)).value
    #expect(folder.records.count == 3)
    for name in folder.files {
      let bytes = try Data(contentsOf: folder.url.appendingPathComponent(name))
      #expect(bytes.range(of: Data("CANARY".utf8)) == nil)
      #expect(!name.contains("CANARY"))
    }
    for token in ["CANARY-token-1", "CANARY-token-2"] {
      let response = try await GetThing(query: "CANARY-query", token: token).get(on: client(transport)).value
      #expect(response.body == Data(token.suffix(1).utf8))
    }
    #expect(transport.requests.count == 3)
  }

  @Test func `S1: an owner's responses can be removed, from the files, too`() async throws {
    let transport = ScriptedTransport(scheduler: ConcurrentScheduler())
    transport.always(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("a".utf8)))
    let storage = try DiskCacheStorage(folder: folder.url)
    let owners = RequestOwners.named { $0.headers["Authorization"] ?? "" }
    var client = try client(transport, storage)
    client.middlewares = [CacheMiddleware(storage, owners: owners)]
    for token in ["a", "b"] { _ = try await GetThing(token: token).get(on: client).value }
    try storage.removeAll(of: "a")
    #expect(folder.records.count == 1)
    for token in ["a", "b"] { _ = try await GetThing(token: token).get(on: client).value }
    #expect(transport.requests.count == 3)
    try storage.removeAll(of: nil)
    #expect(folder.records == [])
  }

  @Test func `F4: a sign-out removes the account's files, also those of a process before it`() async throws {
    let transport = ScriptedTransport(scheduler: ConcurrentScheduler())
    transport.always(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("1".utf8)))
    let tokens = InMemoryTokenProvider { _ in .never() }
    func client() throws -> APIClient {
      var client = try self.client(transport)
      client.middlewares = .standard(tokens: tokens, cache: try DiskCacheStorage(folder: folder.url))
      return client
    }
    for account in ["A", "B"] {
      tokens.setToken(AccessToken("token of \(account)", account: account))
      for query in ["thing", "other"] { _ = try await GetThing(query: query).get(on: client()).value }
    }
    #expect(folder.records.count == 4)
    tokens.setToken(nil)
    try client().middlewares.signOut(AccessToken("another token of A", account: "A"))
    #expect(folder.records.count == 2)
    for (account, source) in [("B", false), ("A", true)] {
      tokens.setToken(AccessToken("token of \(account)", account: account))
      let response = try await GetThing().get(on: client()).value
      #expect((response.head.source == .network) == source)
    }
  }

  @Test func `F4: a response that is read from a file during the sign-out does not stay in memory`() async throws {
    let response = CachedResponse(
      response: HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=60"], body: Data("a".utf8)),
      requestTime: 0, responseTime: 0, varyingValues: [])
    let storage = try DiskCacheStorage(folder: folder.url)
    for round in 0..<200 {
      let key = CacheKey(url: "http://a.example/\(round)", owner: "A")
      try DiskCacheStorage(folder: folder.url).store([response], for: key)
      await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask { _ = storage.responses(for: key) }
        tasks.addTask { try? storage.removeAll(of: "A") }
      }
      #expect(storage.responses(for: key).isEmpty)
    }
  }

  @Test func `F2: what is damaged, or cannot be written, is not there, and no request fails for it`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, Self.first)
    _ = try await GetThing().get(on: client(transport)).value
    let record = try #require(folder.records.first)
    let file = folder.url.appendingPathComponent(record)
    let whole = try Data(contentsOf: file)
    for position in stride(from: 0, to: whole.count, by: 7) {
      var damaged = whole
      damaged[position] ^= 4
      try damaged.write(to: file)
      let response = try await GetThing().get(on: client(transport)).value
      #expect(response.head.source == .network)
      #expect(transport.requests.last?.headers["If-None-Match"] == nil)
    }
    let client = try client(transport)
    try FileManager.default.removeItem(at: folder.url)
    #expect(try await GetThing(query: "other").get(on: client).value.head.status == 200)
  }

  @Test func `E2: it is not the task that awaits a response that reads, writes and removes files`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("1".utf8)))
    let callers = Mutable<Set<Bool>>([])
    let files = FaultyFileSystem()
    files.onEachCall { callers.update { _ = $0.insert(withUnsafeCurrentTask { $0 != nil }) } }
    func newProcess() throws -> APIClient {
      defer { callers.update { $0 = [] } }
      return try client(
        transport,
        DiskCacheStorage(folder: folder.url, fileSystem: files, scheduler: ConcurrentScheduler()))
    }
    for _ in 0..<2 {
      _ = try await GetThing().get(on: newProcess()).value
      #expect(callers.value == [false])
      #expect(folder.records.count == 1)
    }
    #expect(transport.requests.count == 1)
    _ = try await GetThing().delete(on: newProcess()).value
    #expect(callers.value == [false])
    #expect(folder.records == [])
  }

  @Test(arguments: [true, false])
  func `E2: it is not who cancels a change, such as a task, or a deadline, that removes files`(isTask: Bool)
    async throws
  {
    let transport = ScriptedTransport()
    transport.expect(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("1".utf8)))
    transport.always(.any, .never)
    let callers = Mutable<Set<Bool>>([])
    let files = FaultyFileSystem()
    files.onEachCall {
      let isCanceller = withUnsafeCurrentTask { $0 != nil } || Thread.current.name == "canceller"
      callers.update { _ = $0.insert(isCanceller) }
    }
    let client = try client(
      transport, DiskCacheStorage(folder: folder.url, fileSystem: files, scheduler: ConcurrentScheduler()))
    _ = try await GetThing().get(on: client).value
    #expect(folder.records.count == 1)
    let deletion = GetThing().delete(on: client).subscribe()
    try await eventually { transport.requests.count == 2 }
    callers.update { $0 = [] }
    if isTask {
      deletion.dispose()
    } else {
      await onOtherThread {
        Thread.current.name = "canceller"
        deletion.dispose()
      }
    }
    try await eventually { folder.records == [] }
    #expect(callers.value == [false])
  }

  @Test func `what a cancelled change may have changed is not read any more, and removed soon`() async throws {
    let transport = ScriptedTransport()
    for _ in 0..<3 {
      transport.expect(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("1".utf8)))
      transport.expect(.any, .never)
    }
    let client = try client(transport)
    for number in 0..<3 {
      _ = try await GetThing().get(on: client).value
      #expect(transport.requests.count == 2 * number + 1)
      let deletion = GetThing().delete(on: client).subscribe()
      try await eventually { transport.requests.count == 2 * number + 2 }
      deletion.dispose()
    }
    try await eventually { folder.records == [] }
  }

  @Test func `F4: the response to a request that was made before its account signed out is not stored`() async throws {
    let transport = ScriptedTransport()
    transport.always(.any, .response(headers: ["Cache-Control": "max-age=600"], body: Data("1".utf8)))
    let cache = CacheMiddleware(try DiskCacheStorage(folder: folder.url), owners: .named { _ in "ada" })
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:1/")), transport: transport, middlewares: [cache])
    for _ in 0..<20 {
      let isOver = Latch()
      let subscription = GetThing().get(on: client).subscribe(onCompleted: { isOver.open() })
      try cache.signOut(owner: "ada")
      try await isOver.wait()
      #expect(folder.records == [])
      withExtendedLifetime(subscription) {}
    }
  }

  private func onOtherThread(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        work()
        continuation.resume()
      }
    }
  }
}
