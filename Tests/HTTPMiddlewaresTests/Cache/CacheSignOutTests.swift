import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import Testing

@Suite("F4: a sign-out empties the account's part of the cache")
struct CacheSignOutTests {
  private static let fresh = "Cache-Control: max-age=60"
  private let storage = MemoryCacheStorage()
  private let tokens = TestTokens(AccessToken("a1", account: "A"))

  private var auth: AuthMiddleware { AuthMiddleware(tokens) }

  private func middleware() -> CacheMiddleware { CacheMiddleware(storage, owners: .credentials(of: tokens)) }

  private func parts(_ text: String, _ fields: [String] = [fresh]) throws -> [HTTPResponsePart] {
    [.head(HTTPResponseHead(status: 200, headers: try CacheHarness.headers(fields))), .body(Data(text.utf8))]
  }

  /// What the cache gives; if it asks the server, that responds with a text.
  private func get(
    _ cache: CacheMiddleware, _ fields: [String] = [], by auth: AuthMiddleware? = nil,
    else text: String = "from the server"
  ) throws -> String {
    let parts = try parts(text)
    let response = try OneResponse(.from(parts)).send(
      CacheHarness.request(fields), through: [cache, auth ?? self.auth]
    )
    .collect(upTo: 100)
    return try #require(TestScheduler().observe(response).elements.first?.text)
  }

  @Test func `what the account has stored is gone, also under other tokens, and others' is kept`() throws {
    let cache = middleware()
    #expect(try get(cache, else: "A's") == "A's")
    #expect(try get(cache, ["Cookie: c"], else: "A's by cookie") == "A's by cookie")
    let old = AccessToken("a2", account: "A")
    tokens.tokens.setToken(AccessToken("b1", account: "B"))
    #expect(try get(cache, else: "B's") == "B's")
    try cache.signOut(old)
    #expect(try get(cache) == "B's")
    tokens.tokens.setToken(old)
    #expect(try get(cache, else: "new") == "new")
    #expect(try get(cache, ["Cookie: c"], else: "new by cookie") == "new by cookie")
  }

  @Test func `an account does not sign another one out whose name begins with its own`() throws {
    let cache = middleware()
    tokens.tokens.setToken(AccessToken("x", account: "A\nCookie 1 c"))
    #expect(try get(cache, else: "other's") == "other's")
    try cache.signOut(AccessToken("a1", account: "A"))
    #expect(try get(cache) == "other's")
    tokens.tokens.setToken(AccessToken("a1", account: "A"))
    #expect(try get(cache, ["Cookie: c"]) == "from the server")
  }

  @Test func `a token without an account signs itself out, and a named owner is named`() throws {
    let cache = middleware()
    tokens.tokens.setToken(AccessToken("t1"))
    #expect(try get(cache, else: "t1's") == "t1's")
    try [CircuitBreakerMiddleware(), cache].signOut(AccessToken("t2"))
    #expect(try get(cache) == "t1's")
    try [CircuitBreakerMiddleware(), cache].signOut(AccessToken("t1"))
    #expect(try get(cache) == "from the server")

    let named = CacheMiddleware(storage, owners: .named { $0.headers["X-Tenant"] ?? "" })
    #expect(try get(named, ["X-Tenant: 1"], else: "1's") == "1's")
    try named.signOut(owner: "1")
    #expect(try get(named, ["X-Tenant: 1"]) == "from the server")
  }

  @Test(arguments: [false, true])
  func `a response that is on its way meanwhile is delivered, and not stored`(isAfterHead: Bool) throws {
    let cache = middleware()
    let response = PublishSubject<HTTPResponsePart>()
    let request = try CacheHarness.request()
    let observer = TestScheduler().observe(OneResponse(response.asObservable()).send(request, through: [cache, auth]))
    let parts = try parts("late")
    if isAfterHead { response.onNext(parts[0]) }
    try cache.signOut(AccessToken("a1", account: "A"))
    // Signed in again at once: the response is that of the time before.
    for part in isAfterHead ? parts.dropFirst() : parts[...] { response.onNext(part) }
    response.onCompleted()
    #expect(observer.isDisposed)
    #expect(observer.elements.count == 2)
    #expect(storage.size == 0)
    #expect(try get(cache, else: "new") == "new")
    #expect(try get(cache) == "new")
  }

  @Test func `another account's response that is on its way is stored`() throws {
    let cache = middleware()
    let response = PublishSubject<HTTPResponsePart>()
    let subscription = try OneResponse(response.asObservable()).send(CacheHarness.request(), through: [cache, auth])
      .subscribe()
    defer { subscription.dispose() }
    for number in 0..<900 { try cache.signOut(AccessToken("", account: "\(number)")) }
    for part in try parts("A's") { response.onNext(part) }
    response.onCompleted()
    #expect(try get(cache) == "A's")
  }

  @Test func `after more sign-outs than are remembered, what was on its way before them is not stored`() throws {
    let cache = middleware()
    let response = PublishSubject<HTTPResponsePart>()
    let subscription = try OneResponse(response.asObservable()).send(CacheHarness.request(), through: [cache, auth])
      .subscribe()
    defer { subscription.dispose() }
    for account in ["A"] + (0..<5_000).map(String.init) { try cache.signOut(AccessToken("", account: account)) }
    for part in try parts("A's") { response.onNext(part) }
    response.onCompleted()
    #expect(storage.size == 0)
  }

  @Test func `a stored response that a 304 confirms during the sign-out is not stored again`() throws {
    let cache = middleware()
    let tagged = try parts("old", ["Cache-Control: no-cache", "ETag: \"1\""])
    _ = try OneResponse(.from(tagged)).send(CacheHarness.request(), through: [cache, auth]).subscribe()
    #expect(storage.size > 0)
    let response = PublishSubject<HTTPResponsePart>()
    let request = try CacheHarness.request()
    let observer = TestScheduler().observe(OneResponse(response.asObservable()).send(request, through: [cache, auth]))
    try cache.signOut(AccessToken("a1", account: "A"))
    response.onNext(.head(HTTPResponseHead(status: 304, headers: try CacheHarness.headers(["ETag: \"1\""]))))
    response.onCompleted()
    #expect(observer.elements.count == 2)
    #expect(storage.size == 0)
  }

  /// Lets something happen in the middle of its calls.
  private final class SlowStorage: ImmediateCacheStorage {
    let memory = MemoryCacheStorage()
    var removals: CacheRemovals { memory.removals }
    let onStore = Locked<(@Sendable () -> Void)?>(nil)
    let onRemoval = Locked<(@Sendable () -> Void)?>(nil)

    func responses(for key: CacheKey) -> [CachedResponse] { memory.responses(for: key) }

    func store(_ responses: [CachedResponse], for key: CacheKey) {
      onStore.withLock { $0.take() }?()
      memory.store(responses, for: key)
    }

    func removeAll(of account: String?) {
      removals.add(account: account)
      onRemoval.withLock { $0.take() }?()
      memory.forgetAll()
    }
  }

  @Test func `S1: a sign-out returns once what is being stored meanwhile is gone, too`() throws {
    let (storage, isOver) = (SlowStorage(), DispatchSemaphore(value: 0))
    let cache = CacheMiddleware(storage, owners: .credentials(of: tokens))
    let returnedTooEarly = Locked(false)
    storage.onStore.withLock {
      $0 = {
        Thread.detachNewThread {
          try? cache.signOut(AccessToken("a1", account: "A"))
          isOver.signal()
        }
        if isOver.wait(timeout: .now() + 0.2) == .success {
          isOver.signal()
          returnedTooEarly.withLock { $0 = true }
        }
      }
    }
    #expect(try get(cache, else: "A's") == "A's")
    isOver.wait()
    #expect(!returnedTooEarly.withLock { $0 })
    #expect(storage.memory.size == 0)
    #expect(try get(cache) == "from the server")
  }

  @Test func `S1: what a request finds while an account is removed is not stored again after that`() throws {
    let storage = SlowStorage()
    let cache = CacheMiddleware(storage, owners: .credentials(of: tokens))
    let head = HTTPResponseHead(
      status: 200, headers: try CacheHarness.headers(["Cache-Control: max-age=0", #"ETag: "1""#]))
    let first = OneResponse(.from([.head(head), .body(Data("A's".utf8))]))
    _ = TestScheduler().observe(first.send(try CacheHarness.request(), through: [cache, auth]))
    #expect(storage.memory.size > 0)
    let (response, request) = (PublishSubject<HTTPResponsePart>(), try CacheHarness.request())
    let bag = DisposeBag()
    storage.onRemoval.withLock { [auth] in
      $0 = {
        OneResponse(response.asObservable()).send(request, through: [cache, auth]).subscribe().disposed(by: bag)
      }
    }
    try cache.signOut(AccessToken("a1", account: "A"))
    response.onNext(.head(HTTPResponseHead(status: 304, headers: try CacheHarness.headers([#"ETag: "1""#]))))
    response.onCompleted()
    #expect(storage.memory.size == 0)
    bag.dispose()
  }

  @Test func `accounts that share a cache by authenticating on their own sign out one by one`() throws {
    let by = AuthMiddleware(TestTokens(AccessToken("b1", account: "B")))
    let first: [any HTTPMiddleware] = [middleware(), AuthMiddleware(tokens)]
    let second = first.map { ($0 as? CacheMiddleware)?.authenticated(by: by) ?? $0 }
    let caches = [first, second].compactMap { $0.first as? CacheMiddleware }
    #expect(try get(caches[0], else: "A's") == "A's")
    #expect(try get(caches[1], by: by, else: "B's") == "B's")
    try second.signOut(AccessToken("b1", account: "B"))
    #expect(try get(caches[0]) == "A's")
    #expect(try get(caches[1], by: by) == "from the server")
  }

  @Test(arguments: [false, true])
  func `A3: a sign-out through one stack counts for what is on its way through another on the storage`(isOfAll: Bool)
    throws
  {
    let (cache, other) = (middleware(), middleware())
    let response = PublishSubject<HTTPResponsePart>()
    let subscription = try OneResponse(response.asObservable()).send(CacheHarness.request(), through: [cache, auth])
      .subscribe()
    defer { subscription.dispose() }
    if isOfAll { storage.removeAll(of: nil) } else { try other.signOut(AccessToken("a1", account: "A")) }
    for part in try parts("late") { response.onNext(part) }
    response.onCompleted()
    #expect(storage.size == 0)
    #expect(try get(other, else: "new") == "new")
  }
}
