import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import Synchronization
import Testing

@Suite("the cache of responses")
struct CacheMiddlewareTests {
  private static let tag = #"ETag: "v1""#
  private static let outages: [ScriptedResponse] =
    [500, 502, 503, 504].map { .response(status: $0, body: Data("out of order".utf8)) }
    + [RequestError.Kind.cannotConnect, .connectionLost, .timedOut, .circuitOpen, .overloaded].map {
      .failure(RequestError($0, "…"))
    }

  @Test func `a hit tells its age in the head and in the field`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60", "Age: 7"]))
    #expect(try cache.get().head.source == .network)
    cache.pass(10.5)
    let hit = try cache.get()
    #expect(hit.head.source == .cache(age: .seconds(17.5), isStale: false))
    #expect(hit.head.headers.values(of: "Age") == ["17"])
    #expect(hit.text == "first")
  }

  @Test func `one address in two zones is two servers, each with responses of its own`() throws {
    let cache = CacheHarness()
    let urls = ["eth0", "eth1"].map { "http://[fe80::1%25\($0)]/x" }
    for url in urls {
      cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60"], "of \(url)"))
      #expect(try cache.get([], url).text == "of \(url)")
    }
    for url in urls { #expect(try cache.get([], url).text == "of \(url)") }
    #expect(cache.transport.requests.count == 2)
  }

  @Test func `a 304 renews the stored fields, except those about the body`() throws {
    let cache = CacheHarness()
    cache.transport.expect(
      try CacheHarness.response([Self.tag, "Cache-Control: max-age=60", "Content-Type: text/a", "X-A: 1", "Age: 30"]))
    _ = try cache.get()
    cache.pass(31)
    cache.transport.expect(
      .response(
        status: 304,
        headers: try CacheHarness.headers(["Cache-Control: max-age=100", "Content-Type: text/b", "X-A: 2", "X-B: 3"])))
    let confirmed = try cache.get()
    #expect(cache.sent("If-None-Match") == [nil, #""v1""#])
    #expect(confirmed.text == "first")
    #expect(confirmed.head.status == 200)
    #expect(confirmed.head.source == .validatedCache)
    #expect(confirmed.head.headers["Content-Type"] == "text/a")
    #expect(confirmed.head.headers["X-A"] == "2")
    #expect(confirmed.head.headers["X-B"] == "3")
    cache.pass(99)
    #expect(try cache.get().head.source == .cache(age: .seconds(99), isStale: false))
    #expect(cache.transport.requests.count == 2)
  }

  @Test func `the response that took the place of a stale one is stored`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.tag, "Cache-Control: max-age=1"]))
    cache.transport.expect(
      try CacheHarness.response([#"ETag: "v2""#, "Cache-Control: max-age=60"], "second").inPieces(of: 2))
    _ = try cache.get()
    cache.pass(1)
    #expect(try cache.get().head.source == .network)
    #expect(try cache.get().text == "second")
    #expect(cache.transport.requests.count == 2)
  }

  @Test func `fields about one connection are not stored`() throws {
    let names = [
      "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Connection", "Proxy-Authenticate",
      "Proxy-Authentication-Info", "Proxy-Authorization",
    ]
    let cache = CacheHarness()
    cache.transport.expect(
      try CacheHarness.response(
        [
          "Cache-Control: max-age=60", "Connection: x-hop, X-Next", "X-Hop: 1", "x-next: 1", "X-End: 2",
        ] + names.map { "\($0): 1" }))
    _ = try cache.get()
    let hit = try cache.get().head.headers
    for name in names + ["Connection", "X-Hop", "X-Next"] { #expect(!hit.contains(name), "\(name)") }
    #expect(hit["X-End"] == "2")
  }

  @Test func `responses that the server's Vary tells apart are kept side by side, up to eight`() throws {
    let cache = CacheHarness()
    for number in 1...9 {
      cache.transport.expect(
        try CacheHarness.response(["Cache-Control: max-age=60", "Vary: X-Part"], "part \(number)"))
      _ = try cache.get(["X-Part: \(number)"])
    }
    for number in 2...9 { #expect(try cache.get(["X-Part: \(number)"]).text == "part \(number)") }
    #expect(cache.transport.requests.count == 9)
    cache.transport.expect(try CacheHarness.response([]))
    _ = try cache.get(["X-Part: 1"])
    #expect(cache.transport.requests.count == 10)
  }

  @Test func `a 304 may confirm a response to other fields, by its tag`() throws {
    let cache = CacheHarness()
    for language in ["de", "en"] {
      cache.transport.expect(
        try CacheHarness.response(
          ["Cache-Control: max-age=60", "Vary: Accept-Language", #"ETag: "\#(language)""#], language))
      _ = try cache.get(["Accept-Language: \(language)"])
    }
    cache.transport.expect(.response(status: 304, headers: [#"ETag"#: #""en""#]))
    #expect(try cache.get(["Accept-Language: fr"]).text == "en")
    #expect(cache.sent("If-None-Match").last == #""de", "en""#)
    #expect(try cache.get(["Accept-Language: fr"]).text == "en")
    #expect(cache.transport.requests.count == 3)
  }

  @Test func `a 304 that confirms nothing known is followed by a request without conditions`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.tag]))
    _ = try cache.get()
    cache.transport.expect(.response(status: 304, headers: ["ETag": #""other""#]))
    cache.transport.expect(try CacheHarness.response([], "second"))
    #expect(try cache.get().text == "second")
    #expect(cache.sent("If-None-Match") == [nil, #""v1""#, nil])
  }

  @Test(arguments: outages.indices)
  func `RFC 5861: in an outage, what may replace an error is served`(index: Int) throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.tag, "Cache-Control: max-age=60, stale-if-error=600"]))
    _ = try cache.get()
    cache.pass(659)
    cache.transport.always(Self.outages[index])
    let hit = try cache.get()
    #expect(hit.text == "first")
    #expect(hit.head.source == .cache(age: .seconds(659), isStale: true))
    cache.pass(2)
    let outcome = cache.harness.start(try CacheHarness.request())
    #expect(outcome.error != nil || outcome.status ?? 0 >= 500)
  }

  @Test(arguments: [
    "Cache-Control: max-age=60", "Cache-Control: max-age=60, stale-if-error=600, must-revalidate",
    "Cache-Control: no-cache, stale-if-error=600",
  ])
  func `RFC 5861: without leave, or against it, the error is given`(field: String) throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.tag, field]))
    _ = try cache.get()
    cache.pass(61)
    cache.transport.always(.response(status: 503))
    #expect(try cache.get().head.status == 503)
    #expect(try cache.get(["Cache-Control: stale-if-error=60"]).head.status == (field.contains(",") ? 503 : 200))
  }

  @Test func `an error that is no outage is given`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.tag, "Cache-Control: max-age=60, stale-if-error=600"]))
    _ = try cache.get()
    cache.pass(61)
    cache.transport.expect(.response(status: 404))
    #expect(try cache.get().head.status == 404)
    cache.transport.expect(.failure(RequestError(.insecure, "…")))
    #expect(throws: RequestError.self) { try cache.get() }
  }

  @Test func `RFC 5861: a refresh in the background serves the next request, and runs once at a time`() throws {
    let cache = CacheHarness()
    cache.transport.expect(
      try CacheHarness.response([Self.tag, "Cache-Control: max-age=60, stale-while-revalidate=60"]))
    _ = try cache.get()
    cache.pass(70)
    cache.transport.expect(
      try CacheHarness.response(["Cache-Control: max-age=60"], "second").after(.seconds(5)))
    let outcomes = try (0..<10).map { _ in cache.harness.start(try CacheHarness.request()) }
    #expect(try outcomes.allSatisfy { try $0.result?.get().text == "first" })
    #expect(cache.transport.requests.count == 2)
    cache.pass(5)
    #expect(try cache.get().text == "second")
    #expect(cache.sent("If-None-Match") == [nil, #""v1""#])
  }

  @Test func `RFC 5861: a refresh that fails leaves what is stored, and the next request asks again`() throws {
    let cache = CacheHarness()
    cache.transport.expect(
      try CacheHarness.response([Self.tag, "Cache-Control: max-age=60, stale-while-revalidate=60"]))
    _ = try cache.get()
    cache.pass(70)
    cache.transport.always(.failure(RequestError(.connectionLost, "…")))
    #expect(try cache.get().text == "first")
    #expect(try cache.get().text == "first")
    #expect(cache.transport.requests.count == 3)
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "M-SEARCH"])
  func `4.4: an unsafe request that succeeds removes what is stored for its URL, and for those it names`(
    method: String
  ) throws {
    let cache = CacheHarness()
    let urls = ["https://a.example/x?q=1", "https://a.example/y", "https://a.example/z", "https://b.example/"]
    for url in urls {
      cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60"]))
      _ = try cache.get([], url)
    }
    let request = try CacheHarness.request(method: HTTPMethod(method))
    cache.transport.expect(.response(status: 400))
    _ = try cache.harness.finish(request)
    #expect(try cache.get().head.source != .network)
    cache.transport.expect(
      try CacheHarness.response(["Location: /y", "Content-Location: https://b.example/"], status: 201))
    _ = try cache.harness.finish(request)
    cache.transport.always(try CacheHarness.response([], "second"))
    #expect(try urls.map { try cache.get([], $0).text } == ["second", "second", "first", "first"])
  }

  @Test func `requests with conditions or a range of their own pass through`() throws {
    let cache = CacheHarness()
    cache.transport.always(try CacheHarness.response(["Cache-Control: max-age=60", Self.tag]))
    for field in [
      "Range: bytes=0-1", "If-Match: *", "If-None-Match: *", "If-Range: \"a\"", "If-Modified-Since: x",
      "If-Unmodified-Since: x",
    ] {
      for _ in 1...2 { #expect(try cache.get([field]).head.source == .network) }
    }
    #expect(cache.transport.requests.count == 12)
  }

  @Test func `what is declined, too long, endless, cut off or redirected is not stored`() throws {
    let cache = CacheHarness(
      bodyLimit: 6, inside: { [RedirectMiddleware(scheduler: $0)] }, mayStore: { $0.text != "errors" })
    let fresh = "Cache-Control: max-age=60"
    func checkNotStored(_ answers: ScriptedResponse..., sourceLocation: SourceLocation = #_sourceLocation) throws {
      let before = cache.transport.requests.count
      for answer in answers { cache.transport.expect(answer) }
      _ = try cache.harness.finish(CacheHarness.request())
      cache.transport.expect(.response(status: 500))
      #expect(try cache.get().head.status == 500, sourceLocation: sourceLocation)
      #expect(cache.transport.requests.count == before + answers.count + 1, sourceLocation: sourceLocation)
    }
    try checkNotStored(CacheHarness.response([fresh], "errors"))
    try checkNotStored(CacheHarness.response([fresh], "1234567"))
    try checkNotStored(CacheHarness.response([fresh], "1234567").inPieces(of: 3))
    try checkNotStored(CacheHarness.response([fresh, "Content-Type: text/event-stream"]))
    try checkNotStored(CacheHarness.response([fresh]).thenFailing(RequestError(.connectionLost, "…")))
    try checkNotStored(CacheHarness.response(["Location: /y"], status: 302), CacheHarness.response([fresh]))
    cache.transport.expect(try CacheHarness.response([fresh], "123456").inPieces(of: 3))
    _ = try cache.get()
    #expect(try cache.get().text == "123456")
  }

  @Test func `a request whose subscriber leaves stores nothing`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60"]).after(.seconds(1)))
    let outcome = cache.harness.start(try CacheHarness.request())
    outcome.dispose()
    cache.pass(2)
    cache.transport.expect(try CacheHarness.response([], "second"))
    #expect(try cache.get().text == "second")
  }

  @Test func `observers see what the cache served, and that nothing was sent`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60"]))
    let events = Mutex<[RequestEvent]>([])
    struct Observer: RequestObserver {
      let record: @Sendable (RequestEvent) -> Void
      func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void { record }
    }
    let observing = ObservingMiddleware(
      Observer { event in events.withLock { $0.append(event) } }, scheduler: cache.scheduler)
    for _ in 1...2 {
      _ = try cache.transport.send(CacheHarness.request(), through: [observing] + cache.harness.middlewares)
        .collect(upTo: 100).subscribe()
    }
    let summaries = events.withLock { $0 }.compactMap { if case .ended(let summary) = $0 { summary } else { nil } }
    #expect(summaries.map(\.attemptCount) == [1, 0])
    #expect(summaries.map(\.status) == [200, 200])
    #expect(summaries.map(\.source) == [.network, .cache(age: .zero, isStale: false)])
  }
}

@Suite("the memory of a cache")
struct MemoryCacheStorageTests {
  @Test func `those that were not used for longest go when it is full`() throws {
    let storage = MemoryCacheStorage(limit: 100_000)
    let cache = CacheHarness(storage)
    cache.transport.always(
      try CacheHarness.response(["Cache-Control: max-age=60"], String(repeating: "x", count: 9000)))
    for number in 1...9 {
      _ = try cache.get([], "https://a.example/\(number)")
      _ = try cache.get([], "https://a.example/1")
    }
    #expect(cache.transport.requests.count == 9)
    for number in 10...20 { _ = try cache.get([], "https://a.example/\(number)") }
    #expect(storage.size <= 100_000)
    let before = cache.transport.requests.count
    _ = try cache.get([], "https://a.example/20")
    _ = try cache.get([], "https://a.example/19")
    #expect(cache.transport.requests.count == before)
    _ = try cache.get([], "https://a.example/2")
    #expect(cache.transport.requests.count == before + 1)
  }

  @Test func `one response takes a quarter at most`() throws {
    let storage = MemoryCacheStorage(limit: 10_000)
    let cache = CacheHarness(storage)
    cache.transport.always(
      try CacheHarness.response(["Cache-Control: max-age=60"], String(repeating: "x", count: 3000)))
    _ = try cache.get()
    #expect(storage.size == 0)
  }

  @Test func `an owner's responses are removed alone`() throws {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage, owners: .named { $0.headers["X-Owner"] ?? "" })
    cache.transport.always(try CacheHarness.response(["Cache-Control: max-age=60"]))
    for owner in ["1", "2"] { _ = try cache.get(["X-Owner: \(owner)"]) }
    storage.removeAll(of: "1")
    #expect(try cache.get(["X-Owner: 2"]).head.source != .network)
    #expect(try cache.get(["X-Owner: 1"]).head.source == .network)
    storage.removeAll(of: nil)
    #expect(storage.size == 0)
  }
}
