import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Synchronization
import Testing

@Suite("RFC 9111, 4.4: what an unsafe request may have changed is not served")
struct CacheInvalidationTests {
  private static let fresh = "Cache-Control: max-age=60"

  @Test func `4.4: a response that was on its way during a POST to its address is delivered, and not stored`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "before").after(.seconds(5)))
    let get = cache.harness.start(try CacheHarness.request())
    cache.transport.expect(.response(status: 200))
    let post = cache.harness.start(try CacheHarness.request(method: .post))
    #expect(post.status == 200)
    cache.pass(5)
    #expect(try get.result?.get().text == "before")
    cache.transport.expect(try CacheHarness.response([Self.fresh], "after"))
    #expect(try cache.get().text == "after")
    #expect(try cache.get().text == "after")
    #expect(cache.transport.requests.count == 3)
  }

  @Test func `4.4: nor is that of a refresh in the background`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60, stale-while-revalidate=60"], "old"))
    _ = try cache.get()
    cache.pass(70)
    cache.transport.expect(try CacheHarness.response([Self.fresh], "before").after(.seconds(5)))
    #expect(cache.harness.start(try CacheHarness.request()).status == 200)
    cache.transport.expect(.response(status: 204))
    _ = cache.harness.start(try CacheHarness.request(method: .post))
    cache.pass(5)
    cache.transport.expect(try CacheHarness.response([Self.fresh], "after"))
    #expect(try cache.get().text == "after")
  }

  @Test func `4.4: nor that of a 304`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: no-cache", #"ETag: "1""#], "before"))
    _ = try cache.get()
    cache.transport.expect(
      try CacheHarness.response(["Cache-Control: max-age=60", #"ETag: "1""#], status: 304, "").after(.seconds(5)))
    let get = cache.harness.start(try CacheHarness.request())
    cache.transport.expect(.response(status: 204))
    _ = cache.harness.start(try CacheHarness.request(method: .post))
    cache.pass(5)
    #expect(try get.result?.get().text == "before")
    cache.transport.expect(try CacheHarness.response([], "after"))
    #expect(try cache.get().text == "after")
    #expect(cache.sent("If-None-Match").last == .some(nil))
  }

  @Test func `4.4: a response that was invalidated during a request does not replace its error`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=1, stale-if-error=600"], "before"))
    _ = try cache.get()
    cache.pass(2)
    cache.transport.expect(ScriptedResponse.response(status: 503).after(.seconds(5)))
    let get = cache.harness.start(try CacheHarness.request())
    cache.transport.expect(.response(status: 204))
    _ = cache.harness.start(try CacheHarness.request(method: .post))
    cache.pass(5)
    #expect(get.status == 503)
  }

  @Test(arguments: [RequestError.Kind.connectionLost, .timedOut])
  func `4.4: a POST that may have been carried out invalidates, though it failed`(kind: RequestError.Kind) throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "before"))
    _ = try cache.get()
    cache.transport.expect(.failure(RequestError(.cannotConnect, "…", reached: .never)))
    _ = cache.harness.start(try CacheHarness.request(method: .post))
    #expect(try cache.get().text == "before")
    cache.transport.expect(.failure(RequestError(kind, "…", reached: .maybe)))
    _ = cache.harness.start(try CacheHarness.request(method: .post))
    cache.transport.expect(try CacheHarness.response([Self.fresh], "after"))
    #expect(try cache.get().text == "after")
  }

  @Test func `4.4: a POST that is cancelled before its response invalidates`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "before"))
    _ = try cache.get()
    cache.transport.expect(ScriptedResponse.response(status: 204).after(.seconds(5)))
    cache.harness.start(try CacheHarness.request(method: .post)).dispose()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "after"))
    #expect(try cache.get().text == "after")
  }

  @Test func `4.4: a POST to another address, or by another owner, invalidates nothing`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "a").after(.seconds(5)))
    let get = cache.harness.start(try CacheHarness.request(["Authorization: a"]))
    cache.transport.always(.response(status: 204))
    for (fields, url) in [
      (["Authorization: b"], "https://a.example/x?q=1"), (["Authorization: a"], "https://a.example/y"),
    ] {
      _ = cache.harness.start(try CacheHarness.request(fields, url, method: .post))
    }
    cache.pass(5)
    #expect(try get.result?.get().text == "a")
    #expect(try cache.get(["Authorization: a"]).text == "a")
  }

  @Test func `4.4: through one stack on a storage it counts for the other`() throws {
    let storage = MemoryCacheStorage()
    let (first, second) = (CacheHarness(storage), CacheHarness(storage))
    first.transport.expect(try CacheHarness.response([Self.fresh], "before").after(.seconds(5)))
    _ = first.harness.start(try CacheHarness.request())
    second.transport.expect(.response(status: 204))
    _ = second.harness.start(try CacheHarness.request(method: .put))
    first.pass(5)
    second.transport.expect(try CacheHarness.response([], "after"))
    #expect(try second.get().text == "after")
  }

  @Test(arguments: [("no-store", CacheMode.private), ("private, max-age=60", .shared)])
  func `3: a 304 that forbids storing serves its request, and ends the stored response`(field: String, mode: CacheMode)
    throws
  {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage, mode: mode)
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=1", #"ETag: "1""#], "first"))
    _ = try cache.get()
    cache.pass(2)
    cache.transport.expect(
      .response(status: 304, headers: try CacheHarness.headers([#"ETag: "1""#, "Cache-Control: \(field)"])))
    #expect(try cache.get().text == "first")
    #expect(storage.size == 0)
    cache.transport.expect(try CacheHarness.response([], "second"))
    #expect(try cache.get().text == "second")
    #expect(cache.sent("If-None-Match").last == .some(nil))
  }

  @Test(
    arguments: [
      (200, ["Cache-Control: no-store"]), (404, []), (410, ["Cache-Control: max-age=0"]), (200, ["Vary: *"]), (200, []),
    ] as [(Int, [String])])
  func `4.3.3: a complete response that is not stored ends the stored one`(status: Int, fields: [String]) throws {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage)
    let field = "Cache-Control: max-age=1, stale-while-revalidate=86400, stale-if-error=86400"
    cache.transport.expect(try CacheHarness.response([field], "old"))
    _ = try cache.get()
    cache.pass(2)
    cache.transport.expect(try CacheHarness.response(fields, status: status, "new"))
    #expect(try cache.get().text == "old")
    #expect(storage.size == 0)
    cache.transport.expect(try CacheHarness.response([], "newest"))
    #expect(try cache.get().text == "newest")
  }

  @Test func `4.3.3: a complete response that is too long to be stored ends the stored one`() throws {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage, bodyLimit: 8)
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=1"], "old"))
    _ = try cache.get()
    cache.pass(2)
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60"], "longer than 8"))
    _ = try cache.get()
    #expect(storage.size == 0)
  }

  @Test(
    arguments: [
      (401, "no-store"), (403, "no-store"), (429, "no-store"), (503, "no-store"), (200, "max-age=60"),
      (200, "no-store"),
    ]
      as [(Int, String)])
  func `a response that does not tell what there is now, or that the client declines, leaves the stored one`(
    status: Int, field: String
  ) throws {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage, mayStore: { $0.text == "old" })
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=1", #"ETag: "1""#], "old"))
    _ = try cache.get()
    cache.pass(2)
    cache.transport.expect(try CacheHarness.response(["Cache-Control: \(field)"], status: status, "new"))
    _ = try cache.get()
    #expect(storage.size > 0)
  }

  @Test func `4.3.3: a response with another Vary ends the stored one that it supersedes`() throws {
    let cache = CacheHarness()
    cache.transport.expect(
      try CacheHarness.response(["Cache-Control: max-age=1, stale-while-revalidate=86400"], "old"))
    _ = try cache.get(["Accept-Language: en"])
    cache.pass(2)
    cache.transport.expect(
      try CacheHarness.response(["Cache-Control: max-age=60", "Vary: Accept-Language"], "new"))
    #expect(try cache.get(["Accept-Language: en"]).text == "old")
    #expect(try cache.get(["Accept-Language: en"]).text == "new")
    cache.transport.expect(try CacheHarness.response(["Vary: Accept-Language"], "neu"))
    #expect(try cache.get(["Accept-Language: de"]).text == "neu")
  }

  @Test(arguments: ["Cache-Control: no-store", "Range: bytes=0-1", #"If-None-Match: "1""#])
  func `a request for what is stored alone is never sent, whatever else it says`(field: String) throws {
    let cache = CacheHarness()
    #expect(try cache.get([field, "Cache-Control: only-if-cached"]).head.status == 504)
    #expect(cache.transport.requests.isEmpty)
  }

  @Test func `a HEAD for what is stored alone is never sent`() throws {
    let cache = CacheHarness()
    let request = try CacheHarness.request(["Cache-Control: only-if-cached"], method: .head)
    #expect(try cache.harness.finish(request).get().head.status == 504)
    #expect(cache.transport.requests.isEmpty)
  }

  @Test func `4.1: responses with different fields that come at the same time are all stored`() throws {
    let (storage, count) = (SlowStorage(), 8)
    let fields = ["Cache-Control: max-age=60", "Vary: Accept-Language"]
    let parts: [HTTPResponsePart] = [
      .head(HTTPResponseHead(status: 200, headers: try CacheHarness.headers(fields))), .body(Data("v".utf8)),
    ]
    let cache = CacheMiddleware(storage)
    let requests = try (0..<count).map { try CacheHarness.request(["Accept-Language: l\($0)"]) }
    DispatchQueue.concurrentPerform(iterations: count) { number in
      let done = DispatchSemaphore(value: 0)
      _ = OneResponse(.from(parts)).send(requests[number], through: [cache]).subscribe(onDisposed: { done.signal() })
      done.wait()
    }
    let failing = OneResponse(.error(RequestError(.cannotConnect, "Not stored.", reached: .never)))
    let stored = requests.filter { request in
      !TestScheduler().observe(failing.send(request, through: [cache])).elements.isEmpty
    }
    #expect(stored.count == count)
  }

  @Test func `a 304's cookies reach its own caller alone`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=1", #"ETag: "1""#, "Set-Cookie: a=1"]))
    #expect(try cache.get().head.headers.values(of: "Set-Cookie") == ["a=1"])
    cache.pass(2)
    let fields = [#"ETag: "1""#, "Cache-Control: max-age=60", "Set-Cookie: a=2", "Set-Cookie: b=3"]
    cache.transport.expect(.response(status: 304, headers: try CacheHarness.headers(fields)))
    #expect(try cache.get().head.headers.values(of: "Set-Cookie") == ["a=2", "b=3"])
    #expect(try cache.get().head.headers.values(of: "Set-Cookie") == [])
  }
}

@Suite("E4: responses age by a clock that is never set")
struct CacheClockTests {
  /// A cache whose wall clock can be set.
  private final class Clocks: Sendable {
    let wall = Mutex(CacheHarness.start)
    let elapsed = Mutex(Duration.zero)
    let storage: any CacheStorage

    init(_ storage: any CacheStorage = MemoryCacheStorage()) { self.storage = storage }

    func pass(_ seconds: Double) {
      wall.withLock { $0 += seconds }
      elapsed.withLock { $0 += .seconds(seconds) }
    }

    /// Sets the wall clock.
    func set(by seconds: Double) { wall.withLock { $0 += seconds } }

    func process() -> MiddlewareHarness {
      MiddlewareHarness { [self] _ in
        [
          CacheMiddleware(
            storage, now: { Date(timeIntervalSince1970: self.wall.withLock { $0 }) },
            elapsed: { self.elapsed.withLock { $0 } })
        ]
      }
    }
  }

  /// Keeps what another process would find, without this process's clock.
  private struct Copies: ImmediateCacheStorage {
    let memory = MemoryCacheStorage()
    var removals: CacheRemovals { memory.removals }

    func responses(for key: CacheKey) -> [CachedResponse] {
      memory.responses(for: key).map {
        CachedResponse(
          response: $0.response, requestTime: $0.requestTime, responseTime: $0.responseTime, initialAge: $0.initialAge,
          varyingValues: $0.varyingValues)
      }
    }

    func store(_ responses: [CachedResponse], for key: CacheKey) { memory.store(responses, for: key) }
    func removeAll(of account: String?) { memory.removeAll(of: account) }
  }

  private static func date(_ seconds: Double) -> String {
    "Date: Sun, 06 Nov 1994 08:\(String(Int(49 + seconds / 60))):37 GMT"
  }

  private func source(_ process: MiddlewareHarness, date seconds: Double? = nil, _ path: String = "x") throws
    -> HTTPResponseSource
  {
    process.transport.always(
      try CacheHarness.response(["Cache-Control: max-age=300"] + (seconds.map { [Self.date($0)] } ?? [])))
    return try process.finish(CacheHarness.request([], "https://a.example/\(path)")).get().head.source
  }

  @Test(arguments: [-3600.0, 3600])
  func `E4: a wall clock that is set makes nothing older or younger`(jump: Double) throws {
    let clocks = Clocks()
    let process = clocks.process()
    #expect(try source(process, date: 0) == .network)
    clocks.set(by: jump)
    clocks.pass(120)
    #expect(try source(process) == .cache(age: .seconds(120), isStale: false))
    clocks.pass(180)
    #expect(try source(process, date: 300) == .network)
    // The server's clock was known before, so the one that is wrong here does not count.
    #expect(try source(process) == .cache(age: .zero, isStale: false))
  }

  @Test func `E4: a clock that is ahead from the start costs one request`() throws {
    let clocks = Clocks()
    clocks.set(by: 3600)
    let process = clocks.process()
    #expect(try source(process, date: 0) == .network)
    #expect(try source(process, date: 0) == .network)
    #expect(try source(process) == .cache(age: .zero, isStale: false))
  }

  @Test func `4.2.3: a response that is old by its Date is old`() throws {
    let clocks = Clocks()
    let process = clocks.process()
    clocks.pass(240)
    #expect(try source(process, date: 240, "other") == .network)
    #expect(try source(process, date: 0) == .network)
    #expect(try source(process) == .cache(age: .seconds(240), isStale: false))
  }

  @Test func `E4: what another process has stored ages by the wall clock, until the server tells the time`() throws {
    let clocks = Clocks(Copies())
    #expect(try source(clocks.process(), date: 0) == .network)
    clocks.pass(60)
    #expect(try source(clocks.process()) == .cache(age: .seconds(60), isStale: false))
    // Set back to before it came: nobody knows how old it is.
    clocks.set(by: -3600)
    let process = clocks.process()
    #expect(try source(process, date: 60, "other") == .network)
    // Now the server has told it.
    #expect(try source(process) == .cache(age: .seconds(60), isStale: false))
    clocks.set(by: 7200)
    #expect(try source(process) == .cache(age: .seconds(60), isStale: false))
  }

  @Test func `E4: what another process has stored is old if the clock was set back to before it`() throws {
    let clocks = Clocks(Copies())
    #expect(try source(clocks.process(), date: 0) == .network)
    clocks.set(by: -10)
    #expect(try source(clocks.process(), date: 0) == .network)
  }
}

/// A storage in memory whose device takes its time.
private struct SlowStorage: ImmediateCacheStorage {
  private let memory = MemoryCacheStorage()
  var removals: CacheRemovals { memory.removals }

  func responses(for key: CacheKey) -> [CachedResponse] {
    defer { Thread.sleep(forTimeInterval: 0.002) }
    return memory.responses(for: key)
  }
  func store(_ responses: [CachedResponse], for key: CacheKey) { memory.store(responses, for: key) }
  func removeAll(of account: String?) throws { memory.removeAll(of: account) }
}
