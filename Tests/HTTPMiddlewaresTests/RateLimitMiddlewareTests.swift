import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("rate limits")
struct RateLimitMiddlewareTests {
  private static let start = 784_111_777.0

  private func harness(
    _ signal: RateLimitSignal = .http, owners: RequestOwners = .credentials(), budget: RetryBudget = RetryBudget(),
    retries: Bool = false
  ) -> MiddlewareHarness {
    MiddlewareHarness { scheduler in
      let now = { @Sendable in Date(timeIntervalSince1970: Self.start + scheduler.now / .seconds(1)) }
      let limits = RateLimitMiddleware(
        signal, owners: owners, budget: budget, scheduler: scheduler, now: now, random: { 0 })
      return retries ? [RetryMiddleware(budget: budget, scheduler: scheduler, now: now), limits] : [limits]
    }
  }

  private static func refusal(_ fields: [String] = [], status: Int = 429, _ body: String = "") throws
    -> ScriptedResponse
  {
    try .response(status: status, headers: CacheHarness.headers(fields), body: Data(body.utf8))
  }

  /// The fields of a refusal, its status, and for how many seconds it asks to wait.
  private static let waits: [(fields: [String], status: Int, body: String, seconds: Double)] = [
    (["Retry-After: 7"], 429, "", 7),
    (["Retry-After: Sun, 06 Nov 1994 08:49:47 GMT"], 429, "", 10),
    (["Retry-After: 7"], 403, "", 7),
    (["Retry-After: 7"], 401, "", 7),
    (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 784111797"], 403, "", 20),
    (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 784111797000"], 429, "", 20),
    (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 9"], 429, "", 9),
    (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 2.5"], 429, "", 2.5),
    (["x-rate-limit-remaining: 0", "x-rate-limit-reset: 784111780"], 429, "", 3),
    (["RateLimit-Remaining: 0", "RateLimit-Reset: 30"], 429, "", 30),
    ([#"RateLimit: "default";r=0;t=12"#, #"RateLimit-Policy: "default";q=100;w=60"#], 429, "", 12),
    (["RateLimit: limit=100, remaining=0, reset=5"], 429, "", 5),
    (["Retry-After: 3", "RateLimit-Remaining: 0", "RateLimit-Reset: 5"], 429, "", 5),
    ([], 403, "You have exceeded a secondary rate limit.", 60),
    ([], 429, "", 1),
    (["Retry-After: soon", "X-RateLimit-Reset: never"], 429, "", 1),
  ]

  @Test(arguments: waits.indices)
  func `a query that is refused is sent again when the server says`(index: Int) throws {
    let (fields, status, body, seconds) = Self.waits[index]
    let harness = harness()
    harness.transport.expect(try Self.refusal(fields, status: status, body))
    harness.transport.expect(.json("{}"))
    let request = try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: nil))
    #expect(try harness.finish(request).get().head.status == 200)
    #expect(harness.scheduler.now == .seconds(seconds))
  }

  @Test(arguments: waits.indices)
  func `R1: a mutation that is refused fails with the time, and with what became of it`(index: Int) throws {
    let (fields, status, body, seconds) = Self.waits[index]
    let harness = harness()
    harness.transport.always(try Self.refusal(fields, status: status, body))
    let error = try #require(harness.start(MiddlewareHarness.request(isReplayable: false)).error)
    #expect(error.kind == .rateLimited)
    #expect(error.status == status)
    #expect(error.retryAfter == .seconds(seconds))
    #expect(error.reached == .rejected)
    #expect(error.isOutage)
    #expect(harness.transport.requests.count == 1)
  }

  @Test(arguments: [200, 400, 403, 404, 500])
  func `other responses are given as they are`(status: Int) throws {
    let harness = harness()
    harness.transport.expect(.response(status: status, body: Data("b".utf8)))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == status)
    #expect(response.body == Data("b".utf8))
  }

  @Test func `nothing is sent while nothing is left, and then all that waited is`() throws {
    let harness = harness()
    harness.transport.expect(try Self.refusal(["RateLimit-Remaining: 1", "RateLimit-Reset: 30"], status: 200))
    _ = try harness.finish(MiddlewareHarness.request())
    harness.transport.always(.json("{}"))
    let outcomes = try (0..<5).map { _ in harness.start(try MiddlewareHarness.request(isReplayable: false)) }
    #expect(outcomes.map(\.status) == [200, nil, nil, nil, nil])
    harness.scheduler.advance(by: .seconds(29))
    #expect(harness.transport.requests.count == 2)
    harness.scheduler.advance(by: .seconds(1))
    #expect(outcomes.allSatisfy { $0.status == 200 })
  }

  @Test func `what is left can be asked for, and is counted down by what is sent`() throws {
    let harness = harness()
    let limits = try #require(harness.middlewares.first as? RateLimitMiddleware)
    let request = try MiddlewareHarness.request()
    #expect(limits.limit(for: request) == RateLimit())
    harness.transport.expect(
      try Self.refusal(
        ["X-RateLimit-Limit: 5000", "X-RateLimit-Remaining: 10", "X-RateLimit-Reset: 784111877"], status: 200))
    _ = try harness.finish(request)
    #expect(limits.limit(for: request) == RateLimit(limit: 5000, remaining: 10, resetsAfter: .seconds(100)))
    harness.transport.always(.json("{}"))
    _ = try harness.finish(request)
    #expect(limits.limit(for: request).remaining == 9)
    harness.scheduler.advance(by: .seconds(100))
    #expect(limits.limit(for: request).remaining == 5000)
    #expect(try limits.limit(for: MiddlewareHarness.request(to: "http://127.0.0.1:2/")) == RateLimit())
  }

  @Test func `limits are per origin and token`() throws {
    let harness = harness()
    harness.transport.expect(try Self.refusal(["RateLimit-Remaining: 0", "RateLimit-Reset: 50"], status: 200))
    var first = try MiddlewareHarness.request()
    try first.headers.set("Authorization", to: "a")
    _ = try harness.finish(first)
    harness.transport.always(.json("{}"))
    var second = first
    try second.headers.set("Authorization", to: "b")
    #expect(harness.start(second).status == 200)
    #expect(harness.start(try MiddlewareHarness.request(to: "http://127.0.0.1:2/")).status == 200)
    #expect(harness.start(first).status == nil)
  }

  @Test(arguments: [-86_400.0, -3600, 3600, 86_400])
  func `a time of the server's is compared with its own clock, whatever this machine's says`(offset: Double) throws {
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
    for fields in [
      ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 784111782"],
      ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: Sun, 06 Nov 1994 08:49:42 GMT"],
      ["Retry-After: Sun, 06 Nov 1994 08:49:42 GMT"],
    ] {
      for retries in [false, true] {
        let harness = MiddlewareHarness { scheduler in
          let now = { @Sendable in Date(timeIntervalSince1970: Self.start + offset) }
          let limits = RateLimitMiddleware(scheduler: scheduler, now: now, random: { 0 })
          return retries ? [RetryMiddleware(scheduler: scheduler, now: now), limits] : [limits]
        }
        harness.transport.expect(try Self.refusal([date] + fields))
        harness.transport.expect(.json("{}"))
        #expect(try harness.finish(MiddlewareHarness.request()).get().head.status == 200)
        #expect(harness.scheduler.now == .seconds(5))
      }
    }
  }

  @Test(arguments: [
    ["X-RateLimit-Resource: search", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 55"],
    [#"RateLimit: "search";r=0;t=55;pk=:c2VhcmNo:"#],
  ])
  func `the limit of one resource holds back none of another`(fields: [String]) throws {
    let harness = harness()
    let search = try MiddlewareHarness.request("search", to: "http://127.0.0.1:1/search?q=1")
    harness.transport.expect(try Self.refusal(fields, status: 200))
    _ = harness.start(search)
    harness.transport.always(.json("{}"))
    let other = harness.start(try MiddlewareHarness.request())
    let same = harness.start(try MiddlewareHarness.request("search", to: "http://127.0.0.1:1/search?q=2"))
    #expect(other.status == 200)
    #expect(same.result == nil)
    let limits = try #require(harness.middlewares.first as? RateLimitMiddleware)
    #expect(limits.limit(for: search).remaining == 0)
    #expect(try limits.limit(for: MiddlewareHarness.request()) == RateLimit())
    harness.scheduler.advance(by: .seconds(55))
    #expect(same.status == 200)
  }

  @Test func `a refusal by one resource is waited for by its requests alone, one beyond resources by all`() throws {
    let harness = harness()
    let search = try MiddlewareHarness.request("search", to: "http://127.0.0.1:1/search")
    harness.transport.expect(try Self.refusal(["X-RateLimit-Resource: search", "Retry-After: 10"]))
    harness.transport.always(.json("{}"))
    let refused = harness.start(search)
    #expect(harness.start(try MiddlewareHarness.request()).status == 200)
    #expect(refused.result == nil)
    harness.scheduler.advance(by: .seconds(10))
    #expect(refused.status == 200)
    // GitHub's secondary limits: there is something left of the resource.
    harness.transport.expect(
      try Self.refusal(
        ["X-RateLimit-Resource: search", "X-RateLimit-Remaining: 9", "Retry-After: 10"], status: 403))
    _ = harness.start(search)
    let other = harness.start(try MiddlewareHarness.request())
    #expect(other.result == nil)
    harness.scheduler.advance(by: .seconds(10))
    #expect(other.status == 200)
  }

  @Test func `what is known of resources has a bound`() throws {
    let harness = harness()
    harness.transport.always(.json("{}"))
    for number in 0..<3000 {
      harness.transport.expect(
        try Self.refusal(
          ["X-RateLimit-Resource: \(number)", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 50"], status: 200))
      _ = harness.start(try MiddlewareHarness.request("q\(number)"))
    }
    // The first are forgotten, the last are not.
    #expect(harness.start(try MiddlewareHarness.request("q0")).status == 200)
    #expect(harness.start(try MiddlewareHarness.request("q2999")).result == nil)
  }

  @Test func `who cannot wait for so long fails at once, unsent, with the time`() throws {
    let harness = harness()
    harness.transport.expect(try Self.refusal(["Retry-After: 50"]))
    _ = harness.start(try MiddlewareHarness.request(isReplayable: false))
    let outcome = harness.start(try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(50))))
    let error = try #require(outcome.error)
    #expect(error.kind == .rateLimited)
    #expect(error.retryAfter == .seconds(50))
    #expect(error.reached == .never)
    #expect(error.status == nil)
    #expect(error.message.contains("for 50 s, until 1994-11-06T08:50:27Z"))
    harness.transport.expect(.json("{}"))
    harness.scheduler.advance(by: .seconds(5))
    let patient = harness.start(try MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(50))))
    harness.scheduler.run()
    #expect(patient.status == 200)
    #expect(harness.scheduler.now == .seconds(50))
    #expect(harness.transport.requests.last?.timeouts.total == .seconds(5))
  }

  @Test func `nobody waits for more than a minute`() throws {
    let harness = harness()
    harness.transport.always(try Self.refusal(["Retry-After: 61"]))
    for _ in 1...2 {
      let error = try #require(harness.start(MiddlewareHarness.request()).error)
      #expect(error.kind == .rateLimited)
      #expect(error.retryAfter == .seconds(61))
    }
    #expect(harness.transport.requests.count == 1)
  }

  @Test func `a server that refuses again and again gets three requests, further and further apart`() throws {
    let harness = harness()
    harness.transport.always(try Self.refusal())
    let error = #expect(throws: RequestError.self) { try harness.finish(MiddlewareHarness.request()).get() }
    #expect(error?.kind == .rateLimited)
    #expect(error?.retryAfter == .seconds(4))
    #expect(harness.transport.requests.count == 3)
    #expect(harness.scheduler.now == .seconds(3))
  }

  @Test func `R4: refused requests are sent again within the budget`() throws {
    let harness = harness(budget: RetryBudget(reserve: 10, recovery: nil))
    harness.transport.always(try Self.refusal(["Retry-After: 0"]))
    for _ in 1...1000 { _ = try harness.finish(MiddlewareHarness.request()) }
    #expect((1001...1110).contains(harness.transport.requests.count))
  }

  @Test func `R3: with retries around it, a refusal is waited for once, and 503 is retried as before`() throws {
    let harness = harness(retries: true)
    harness.transport.expect(try Self.refusal(["Retry-After: 7"]))
    harness.transport.expect(try Self.refusal(["Retry-After: 2"], status: 503))
    harness.transport.expect(.json("{}"))
    #expect(try harness.finish(MiddlewareHarness.request()).get().head.status == 200)
    #expect(harness.scheduler.now == .seconds(9))
    #expect(harness.transport.requests.count == 3)
    harness.transport.always(try Self.refusal(["Retry-After: 61"]))
    #expect(harness.start(try MiddlewareHarness.request()).error?.kind == .rateLimited)
    #expect(harness.transport.requests.count == 4)
  }

  @Test func `a 503 that names a time keeps other requests away, too`() throws {
    let harness = harness()
    harness.transport.expect(try Self.refusal(["Retry-After: 30"], status: 503))
    #expect(try harness.finish(MiddlewareHarness.request()).get().head.status == 503)
    harness.transport.expect(.json("{}"))
    #expect(try harness.finish(MiddlewareHarness.request()).get().head.status == 200)
    #expect(harness.scheduler.now == .seconds(30))
  }

  @Test func `T7: a request that is disposed while it waits is not sent`() throws {
    let harness = harness()
    harness.transport.expect(try Self.refusal(["Retry-After: 5"]))
    let outcome = harness.start(try MiddlewareHarness.request())
    outcome.dispose()
    harness.scheduler.run()
    #expect(harness.transport.requests.count == 1)
    #expect(outcome.result == nil)
  }
}
