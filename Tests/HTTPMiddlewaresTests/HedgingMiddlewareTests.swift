import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("Hedging")
struct HedgingMiddlewareTests {
  private let harness = MiddlewareHarness { [HedgingMiddleware(after: .fixed(.seconds(1)), scheduler: $0)] }

  @Test func `a query whose response comes in time is sent once`() throws {
    harness.transport.always(.response().after(.milliseconds(999)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().head.status == 200)
    #expect(harness.transport.requests.count == 1)
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test func `a slow query is sent again, the first response wins, and the other attempt is cancelled`() throws {
    harness.transport.expect(.never)
    harness.transport.expect(.json("second").after(.seconds(1)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().body == Data("second".utf8))
    #expect(harness.transport.cancellations == 1)
    #expect(harness.scheduler.now == .seconds(2))
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(60), .seconds(59)])
  }

  @Test func `the first attempt may still win, with its whole response`() throws {
    harness.transport.expect(.json("first").inPieces(of: 2).after(.seconds(2)))
    harness.transport.expect(.json("second").after(.seconds(2)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().body == Data("first".utf8))
    #expect(harness.transport.cancellations == 1)
  }

  @Test func `a failure waits for the other attempt`() throws {
    harness.transport.expect(.failure(RequestError(.connectionLost, "…")).after(.seconds(2)))
    harness.transport.expect(.json("second").after(.seconds(3)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().body == Data("second".utf8))
    harness.transport.expect(.json("good").after(.seconds(3)))
    harness.transport.expect(.response(status: 503).after(.seconds(1)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().body == Data("good".utf8))
  }

  @Test func `the later failure is delivered where both attempts fail`() throws {
    harness.transport.expect(.failure(RequestError(.connectionLost, "…")).after(.seconds(2)))
    harness.transport.expect(.json("busy", status: 503).after(.seconds(3)))
    #expect(try harness.finish(MiddlewareHarness.request()).get().body == Data("busy".utf8))
    #expect(harness.transport.cancellations == 0)
  }

  @Test func `a failure that is too long to be withheld is the response, and is delivered whole`() throws {
    harness.transport.always(.response(status: 503, body: Data(count: 200_000)).inPieces(of: 10_000))
    let response = try harness.finish(MiddlewareHarness.request()).get()
    #expect(response.head.status == 503)
    #expect(response.body.count == 200_000)
  }

  @Test func `a failure in time is not hedged`() throws {
    harness.transport.always(.failure(RequestError(.connectionLost, "…")))
    #expect(throws: RequestError.self) { try harness.finish(MiddlewareHarness.request()).get() }
    #expect(harness.transport.requests.count == 1)
  }

  @Test func `a mutation is not hedged, with a key or without`() throws {
    harness.transport.always(.response().after(.seconds(9)))
    var request = try MiddlewareHarness.request(isReplayable: false)
    _ = try harness.finish(request)
    try request.setIdempotencyKey("key")
    _ = try harness.finish(request)
    #expect(harness.transport.requests.count == 2)
  }

  @Test func `hedges come out of the retry budget`() throws {
    let budget = RetryBudget(reserve: 2)
    let harness = MiddlewareHarness {
      [
        RetryMiddleware(budget: budget, scheduler: $0),
        HedgingMiddleware(after: .fixed(.seconds(1)), budget: budget, scheduler: $0),
      ]
    }
    harness.transport.always(.response().after(.seconds(2)))
    for _ in 0..<100 { _ = try harness.finish(MiddlewareHarness.request()) }
    // Two in reserve, which 20 requests pay for; then one for each ten.
    #expect(harness.transport.requests.count == 110)
  }

  @Test func `R4: each budget counts a request, one for hedges beside one for retries, too`() throws {
    let harness = MiddlewareHarness {
      [
        RetryMiddleware(scheduler: $0),
        HedgingMiddleware(after: .fixed(.seconds(1)), budget: RetryBudget(recovery: nil), scheduler: $0),
      ]
    }
    harness.transport.always(.response().after(.seconds(2)))
    for _ in 0..<1000 { _ = try harness.finish(MiddlewareHarness.request()) }
    // Ten in reserve, which a hundred requests pay for; then one for each ten.
    #expect((1099...1100).contains(harness.transport.requests.count))
  }

  @Test func `a percentile learns which responses are slow`() throws {
    let harness = MiddlewareHarness { [HedgingMiddleware(after: .percentile(95), scheduler: $0)] }
    for milliseconds in 1...19 {
      harness.transport.expect(.response().after(.milliseconds(milliseconds)))
      _ = try harness.finish(MiddlewareHarness.request())
    }
    harness.transport.expect(.response().after(.seconds(9)))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.count == 20)
    // The 19th of 20.
    harness.transport.expect(.never)
    harness.transport.expect(.response())
    let start = harness.scheduler.now
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.scheduler.now - start == .milliseconds(19))
    // Another operation is another matter.
    harness.transport.expect(.response().after(.seconds(9)))
    _ = try harness.finish(MiddlewareHarness.request("other"))
    #expect(harness.transport.failures.isEmpty)
  }

  @Test func `a percentile that is no number is the greatest`() throws {
    let harness = MiddlewareHarness { [HedgingMiddleware(after: .percentile(.nan), scheduler: $0)] }
    for milliseconds in 1...20 {
      harness.transport.expect(.response().after(.milliseconds(milliseconds)))
      _ = try harness.finish(MiddlewareHarness.request())
    }
    harness.transport.expect(.never)
    harness.transport.expect(.response())
    let start = harness.scheduler.now
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.scheduler.now - start == .milliseconds(20))
  }

  @Test func `dispose ends both attempts`() throws {
    harness.transport.always(.never)
    let outcome = try harness.start(MiddlewareHarness.request())
    harness.scheduler.advance(by: .seconds(1))
    outcome.dispose()
    #expect(harness.transport.requests.count == 2)
    #expect(harness.transport.cancellations == 2)
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test func `a new operation is learnt, too, however many came before it`() throws {
    let harness = MiddlewareHarness { [HedgingMiddleware(after: .percentile(95), scheduler: $0)] }
    harness.transport.always(.response().after(.milliseconds(1)))
    for number in 0..<3000 { _ = try harness.finish(MiddlewareHarness.request("q\(number)")) }
    for _ in 0..<20 { _ = try harness.finish(MiddlewareHarness.request("new")) }
    harness.transport.expect(.never)
    #expect(try harness.finish(MiddlewareHarness.request("new")).get().head.status == 200)
  }
}
